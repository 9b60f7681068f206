// SPDX-License-Identifier: Apache-2.0
#include "profile/raw_profile.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

namespace rooftile::profile {

namespace {
constexpr std::size_t kMaxPatches = std::size_t{1} << 20;     ///< ambiguous numbers remembered
constexpr std::int64_t kMaxLaunches = std::int64_t{1} << 18;  ///< launches listed one by one
}  // namespace

double Column::sum() const {
  if (weights.empty()) return std::accumulate(values.begin(), values.end(), 0.0);
  return std::inner_product(values.begin(), values.end(), weights.begin(), 0.0);
}

double Column::mean() const {
  if (weights.empty()) return sum() / static_cast<double>(values.size());
  return sum() / std::accumulate(weights.begin(), weights.end(), 0.0);
}

double Column::launches() const {
  const double counted = weights.empty() ? static_cast<double>(values.size())
                                         : std::accumulate(weights.begin(), weights.end(), 0.0);
  return counted + static_cast<double>(missing);
}

const Column* KernelSeries::find(std::string_view metric) const {
  for (const Column& column : columns) {
    if (column.metric == metric) return &column;
  }
  return nullptr;
}

std::int64_t KernelSeries::launches() const {
  double most = 0.0;
  for (const Column& column : columns) most = std::max(most, column.launches());
  return columns.empty() ? rows : std::llround(std::min(most, 9e15));
}

bool RawProfile::has_metric(std::string_view metric) const {
  return std::any_of(kernels.begin(), kernels.end(), [metric](const KernelSeries& kernel) {
    const Column* column = kernel.find(metric);
    return column != nullptr && !column->values.empty();
  });
}

ProfileBuilder::ProfileBuilder(std::string format, std::string file) {
  profile_.format = std::move(format);
  profile_.files.push_back(std::move(file));
}

std::size_t ProfileBuilder::kernel(std::string_view name) {
  if (last_kernel_ < profile_.kernels.size() && profile_.kernels[last_kernel_].name == name) {
    return last_kernel_;
  }
  const auto [it, fresh] = index_.try_emplace(std::string(name), profile_.kernels.size());
  if (fresh) profile_.kernels.emplace_back().name = name;
  last_kernel_ = it->second;
  last_column_ = 0;
  return last_kernel_;
}

/// Metrics of a launch come in the same order every time, so the next column is a good guess.
Column& ProfileBuilder::column(std::size_t kernel, std::string_view metric) {
  std::vector<Column>& columns = profile_.kernels[kernel].columns;
  if (last_column_ < columns.size() && columns[last_column_].metric == metric) {
    return columns[last_column_];
  }
  const std::size_t next = last_column_ + 1 < columns.size() ? last_column_ + 1 : 0;
  if (next < columns.size() && columns[next].metric == metric) {
    last_column_ = next;
    return columns[next];
  }
  for (last_column_ = 0; last_column_ < columns.size(); ++last_column_) {
    if (columns[last_column_].metric == metric) return columns[last_column_];
  }
  columns.emplace_back().metric = metric;
  return columns.back();
}

void ProfileBuilder::add(std::size_t kernel, std::string_view metric, double value, double weight) {
  Column& target = column(kernel, metric);
  if (weight != 1.0 && target.weights.empty()) target.weights.assign(target.values.size(), 1.0);
  target.values.push_back(value);
  if (!target.weights.empty() || weight != 1.0) target.weights.push_back(weight);
}

void ProfileBuilder::add_missing(std::size_t kernel, std::string_view metric,
                                 std::int64_t launches) {
  column(kernel, metric).missing += launches;
}

void ProfileBuilder::add_launch(std::size_t kernel, std::optional<Dim3> grid,
                                std::optional<Dim3> block) {
  KernelSeries& series = profile_.kernels[kernel];
  if (!series.grid) series.grid = grid;
  if (!series.block) series.block = block;
  if (launches_ == kMaxLaunches) return;
  series.launch_list.push_back({.ordinal = launches_++, .grid = grid, .block = block});
}

void ProfileBuilder::add_ambiguous(std::size_t kernel, std::string_view metric, double value,
                                   double other, double weight) {
  add(kernel, metric, value, weight);
  if (patches_.size() == kMaxPatches) return;
  const Column& target = column(kernel, metric);
  patches_.push_back({kernel, last_column_, target.values.size() - 1, other});
}

RawProfile ProfileBuilder::finish(bool decimal_comma) {
  if (decimal_comma) {
    for (const Patch& patch : patches_) {
      profile_.kernels[patch.kernel].columns[patch.column].values[patch.index] = patch.value;
    }
  }
  return std::move(profile_);
}

namespace {

void append(Column& to, const Column& from) {
  if (!from.weights.empty() && to.weights.empty()) to.weights.assign(to.values.size(), 1.0);
  to.values.insert(to.values.end(), from.values.begin(), from.values.end());
  if (!to.weights.empty() || !from.weights.empty()) {
    if (from.weights.empty()) {
      to.weights.resize(to.values.size(), 1.0);
    } else {
      to.weights.insert(to.weights.end(), from.weights.begin(), from.weights.end());
    }
  }
  to.missing += from.missing;
}

}  // namespace

RawProfile merge(RawProfile a, const RawProfile& b) {
  std::unordered_map<std::string_view, std::size_t> index;
  a.kernels.reserve(a.kernels.size() + b.kernels.size());  // names must not move below
  for (std::size_t i = 0; i < a.kernels.size(); ++i) index.emplace(a.kernels[i].name, i);
  for (const KernelSeries& other : b.kernels) {
    const auto it = index.find(other.name);
    if (it == index.end()) {
      a.kernels.push_back(other);
      continue;
    }
    KernelSeries& mine = a.kernels[it->second];
    if (!mine.grid) mine.grid = other.grid;
    if (!mine.block) mine.block = other.block;
    if (mine.launch_list.empty()) mine.launch_list = other.launch_list;
    mine.rows = std::max(mine.rows, other.rows);
    for (const Column& column : other.columns) {
      const auto same =
          std::find_if(mine.columns.begin(), mine.columns.end(),
                       [&](const Column& candidate) { return candidate.metric == column.metric; });
      if (same == mine.columns.end()) {
        mine.columns.push_back(column);
      } else {
        append(*same, column);
      }
    }
  }
  if (a.device.name.empty()) a.device.name = b.device.name;
  if (a.device.isa.empty()) a.device.isa = b.device.isa;
  if (!a.device.sm_count) a.device.sm_count = b.device.sm_count;
  if (a.format != b.format && !b.kernels.empty()) {
    a.format = a.kernels.empty() || a.format.empty() ? b.format : a.format + "+" + b.format;
  }
  a.files.insert(a.files.end(), b.files.begin(), b.files.end());
  a.roofs.insert(a.roofs.end(), b.roofs.begin(), b.roofs.end());
  a.sweep.insert(a.sweep.end(), b.sweep.begin(), b.sweep.end());
  a.notes.insert(a.notes.end(), b.notes.begin(), b.notes.end());
  a.ignored_metrics += b.ignored_metrics;
  a.counters += b.counters;
  return a;
}

double affinity(const RawProfile& a, const RawProfile& b) {
  if (a.kernels.empty() || b.kernels.empty()) return 0.0;
  std::unordered_map<std::string_view, const KernelSeries*> index;
  for (const KernelSeries& kernel : a.kernels) index.emplace(kernel.name, &kernel);
  std::size_t common = 0, equal = 0;
  for (const KernelSeries& kernel : b.kernels) {
    const auto it = index.find(kernel.name);
    if (it == index.end()) continue;
    common += 1;
    equal += kernel.launches() == it->second->launches() ? 1 : 0;
    for (const Column& column : kernel.columns) {
      if (it->second->find(column.metric) != nullptr) return 0.0;
    }
  }
  const double fewer = static_cast<double>(std::min(a.kernels.size(), b.kernels.size()));
  const double more = static_cast<double>(std::max(a.kernels.size(), b.kernels.size()));
  const double overlap = static_cast<double>(common) / fewer;
  if (overlap < 0.5) return 0.0;
  return 0.5 * overlap + 0.5 * static_cast<double>(equal) / more;
}

Result<RawProfile> subtract(const RawProfile& whole, const RawProfile& part) {
  RawProfile rest = whole;
  std::unordered_map<std::string_view, const KernelSeries*> index;
  for (const KernelSeries& kernel : part.kernels) index.emplace(kernel.name, &kernel);
  for (KernelSeries& kernel : rest.kernels) {
    const auto it = index.find(kernel.name);
    if (it == index.end()) continue;
    const std::int64_t dropped = it->second->launches(), all = kernel.launches();
    if (dropped > all) {
      rest.notes.push_back(
          fmt::format("{} was launched {} times in the run to subtract, but only "
                      "{} times in the whole: none is left of it",
                      kernel.name, dropped, all));
    }
    for (Column& column : kernel.columns) {
      if (!column.weights.empty() || column.missing > 0) {
        return bad_input(rest.files.empty() ? "" : rest.files.front(),
                         "a run can only be subtracted launch by launch, but this export holds "
                         "sums over launches or n/a values",
                         "export without --print-summary");
      }
      // Counters of one-metric runs may cover different numbers of launches.
      const Column* same = it->second->find(column.metric);
      const std::int64_t first =
          same != nullptr ? static_cast<std::int64_t>(same->values.size()) : dropped;
      const auto n = std::min(static_cast<std::int64_t>(column.values.size()), first);
      column.values.erase(column.values.begin(), column.values.begin() + n);
    }
    kernel.rows = std::max<std::int64_t>(0, kernel.rows - dropped);
    const auto listed = static_cast<std::int64_t>(kernel.launch_list.size());
    kernel.launch_list.erase(kernel.launch_list.begin(),
                             kernel.launch_list.begin() + std::min(listed, dropped));
  }
  for (KernelSeries& kernel : rest.kernels) {
    const auto emptied =
        std::erase_if(kernel.columns, [](const Column& column) { return column.values.empty(); });
    // Rows count what has no counters; the counters of this kernel are all gone.
    if (emptied > 0 && kernel.columns.empty()) kernel.rows = 0;
  }
  std::erase_if(rest.kernels, [](const KernelSeries& kernel) { return kernel.launches() == 0; });
  return rest;
}

}  // namespace rooftile::profile
