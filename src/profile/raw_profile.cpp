// SPDX-License-Identifier: Apache-2.0
#include "profile/raw_profile.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>
#include <utility>

namespace rooftile::profile {

namespace {
constexpr std::size_t kMaxPatches = std::size_t{1} << 20;  ///< ambiguous numbers remembered
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
  Column& target = column(kernel, metric);
  if (launches == 1 && target.weights.empty()) {
    target.gaps.push_back(target.values.size() + static_cast<std::size_t>(target.missing));
  }
  target.missing += launches;
}

void ProfileBuilder::add_launch(std::size_t kernel, Launch launch) {
  KernelSeries& series = profile_.kernels[kernel];
  if (!series.grid) series.grid = launch.grid;
  if (!series.block) series.block = launch.block;
  if (launches_ == kMaxLaunches) return;
  launch.ordinal = launches_++;
  series.launch_list.push_back(std::move(launch));
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
  const auto before = to.values.size() + static_cast<std::size_t>(to.missing);
  for (const std::size_t gap : from.gaps) to.gaps.push_back(before + gap);
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

std::set<std::string_view> metrics_of(const RawProfile& profile) {
  std::set<std::string_view> metrics;
  for (const KernelSeries& kernel : profile.kernels) {
    for (const Column& column : kernel.columns) metrics.insert(column.metric);
  }
  return metrics;
}

/// Durations, cycles and clocks.
bool in_every_pass(std::string_view metric) {
  return metric == "duration" || metric.starts_with("gpu__time_") ||
         metric.find("cycles_elapsed") != std::string_view::npos;
}

using KernelIndex = std::unordered_map<std::string_view, const KernelSeries*>;

KernelIndex index_of(const RawProfile& profile) {
  KernelIndex index;
  for (const KernelSeries& kernel : profile.kernels) index.emplace(kernel.name, &kernel);
  return index;
}

/// What two exports have of the same counters of the same kernels.
struct Overlap {
  bool any = false;        ///< they share a counter
  bool time_only = true;   ///< none but those of time
  bool same_count = true;  ///< for as many launches each
};

Overlap overlap_of(const RawProfile& a, const RawProfile& b) {
  Overlap overlap;
  const KernelIndex mine = index_of(a);
  for (const KernelSeries& kernel : b.kernels) {
    const auto it = mine.find(kernel.name);
    if (it == mine.end()) continue;
    for (const Column& column : kernel.columns) {
      const Column* same = it->second->find(column.metric);
      if (same == nullptr) continue;
      overlap.any = true;
      overlap.time_only = overlap.time_only && in_every_pass(column.metric);
      overlap.same_count =
          overlap.same_count && std::abs(same->launches() - column.launches()) < 0.5;
    }
  }
  return overlap;
}

/// Another pass over the launches of `a`, with other counters.
bool is_another_pass(const RawProfile& a, const RawProfile& b, const Overlap& overlap) {
  return overlap.any && overlap.same_count && metrics_of(a) != metrics_of(b);
}

void append_launches(const KernelSeries& from, std::int64_t first_ordinal, KernelSeries& to) {
  to.rows += from.rows;
  for (const Launch& launch : from.launch_list) {
    to.launch_list.push_back(launch);
    to.launch_list.back().ordinal += first_ordinal;
  }
}

/// The kernels of `b` with their annotations numbered after those of `a`.
std::vector<KernelSeries> renumbered(const RawProfile& a, const RawProfile& b) {
  std::vector<KernelSeries> kernels = b.kernels;
  const auto ranges = static_cast<std::uint32_t>(a.ranges.size());
  const auto works = static_cast<std::uint32_t>(a.works.size());
  for (KernelSeries& kernel : kernels) {
    for (Launch& launch : kernel.launch_list) {
      launch.range += launch.range == 0 ? 0 : ranges;
      launch.work += launch.work == 0 ? 0 : works;
    }
  }
  return kernels;
}

}  // namespace

RawProfile merge(RawProfile a, const RawProfile& b) {
  const Overlap overlap = overlap_of(a, b);
  const bool passes = is_another_pass(a, b, overlap);
  std::unordered_map<std::string_view, std::size_t> index;
  a.kernels.reserve(a.kernels.size() + b.kernels.size());  // names must not move below
  std::int64_t listed = 0;
  for (std::size_t i = 0; i < a.kernels.size(); ++i) {
    index.emplace(a.kernels[i].name, i);
    listed += static_cast<std::int64_t>(a.kernels[i].launch_list.size());
  }
  for (const KernelSeries& other : renumbered(a, b)) {
    const auto it = index.find(other.name);
    if (it == index.end()) {
      a.kernels.push_back(other);
      if (overlap.any && !passes) {
        for (Launch& launch : a.kernels.back().launch_list) launch.ordinal += listed;
      }
      continue;
    }
    KernelSeries& mine = a.kernels[it->second];
    if (!mine.grid) mine.grid = other.grid;
    if (!mine.block) mine.block = other.block;
    if (overlap.any && !passes) {
      append_launches(other, listed, mine);
    } else {
      if (mine.launch_list.empty()) mine.launch_list = other.launch_list;
      mine.rows = std::max(mine.rows, other.rows);
    }
    for (const Column& column : other.columns) {
      const auto same =
          std::find_if(mine.columns.begin(), mine.columns.end(),
                       [&](const Column& candidate) { return candidate.metric == column.metric; });
      if (same == mine.columns.end()) {
        mine.columns.push_back(column);
      } else if (!passes) {
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
  a.ranges.insert(a.ranges.end(), b.ranges.begin(), b.ranges.end());
  a.copies.insert(a.copies.end(), b.copies.begin(), b.copies.end());
  a.works.insert(a.works.end(), b.works.begin(), b.works.end());
  a.ignored_metrics += b.ignored_metrics;
  a.counters += b.counters;
  return a;
}

double affinity(const RawProfile& a, const RawProfile& b) {
  if (a.kernels.empty() || b.kernels.empty()) return 0.0;
  const Overlap overlap = overlap_of(a, b);
  if (overlap.any && !(overlap.time_only && is_another_pass(a, b, overlap))) return 0.0;
  const KernelIndex index = index_of(a);
  std::size_t common = 0, equal = 0;
  for (const KernelSeries& kernel : b.kernels) {
    const auto it = index.find(kernel.name);
    if (it == index.end()) continue;
    common += 1;
    equal += kernel.launches() == it->second->launches() ? 1 : 0;
  }
  const double fewer = static_cast<double>(std::min(a.kernels.size(), b.kernels.size()));
  const double more = static_cast<double>(std::max(a.kernels.size(), b.kernels.size()));
  const double shared = static_cast<double>(common) / fewer;
  if (shared < 0.5) return 0.0;
  return 0.5 * shared + 0.5 * static_cast<double>(equal) / more;
}

namespace {

/// Peaks and clocks describe the machine; a launch without them still has all its sums.
bool is_summed(std::string_view metric) {
  return metric.find("peak_sustained") == std::string_view::npos &&
         !metric.ends_with("cycles_elapsed.avg.per_second");
}

/// One value or gap per launch.
bool lists(const Column& column, std::size_t launches) {
  return column.weights.empty() && column.gaps.size() == static_cast<std::size_t>(column.missing) &&
         column.values.size() + column.gaps.size() == launches;
}

Column only(const Column& column, const std::vector<bool>& wanted) {
  Column kept{.metric = column.metric, .values = {}, .weights = {}};
  auto gap = column.gaps.begin();
  auto value = column.values.begin();
  for (std::size_t launch = 0; launch < wanted.size(); ++launch) {
    if (gap != column.gaps.end() && *gap == launch) {
      ++gap;
      if (!wanted[launch]) continue;
      kept.gaps.push_back(kept.values.size() + kept.gaps.size());
      kept.missing += 1;
    } else {
      if (wanted[launch]) kept.values.push_back(*value);
      ++value;
    }
  }
  return kept;
}

}  // namespace

bool lists_launches(const KernelSeries& kernel) {
  const std::size_t launches = kernel.launch_list.size();
  return static_cast<std::int64_t>(launches) == kernel.launches() &&
         std::all_of(kernel.columns.begin(), kernel.columns.end(),
                     [&](const Column& column) { return lists(column, launches); });
}

KernelSeries keep_launches(const KernelSeries& kernel, const std::vector<bool>& kept) {
  KernelSeries part;
  part.name = kernel.name;
  part.grid = kernel.grid;
  part.block = kernel.block;
  part.rows = std::count(kept.begin(), kept.end(), true);
  for (const Column& column : kernel.columns) part.columns.push_back(only(column, kept));
  if (kernel.launch_list.size() != kept.size()) return part;
  for (std::size_t i = 0; i < kept.size(); ++i) {
    if (kept[i]) part.launch_list.push_back(kernel.launch_list[i]);
  }
  if (!part.launch_list.empty()) {
    part.grid = part.launch_list.front().grid;
    part.block = part.launch_list.front().block;
  }
  return part;
}

std::optional<KernelSeries> complete_launches(const KernelSeries& kernel) {
  const auto launches = static_cast<std::size_t>(kernel.launches());
  const bool listed = std::all_of(kernel.columns.begin(), kernel.columns.end(),
                                  [&](const Column& column) { return lists(column, launches); });
  // A kernel without counters has as many launches as a file claims: nothing to list, nothing to drop.
  if (!listed || kernel.columns.empty()) return std::nullopt;
  std::vector<bool> kept(launches, true);
  for (const Column& column : kernel.columns) {
    if (column.values.empty() || !is_summed(column.metric))
      continue;  // nobody has it: not measured
    for (const std::size_t gap : column.gaps) kept[gap] = false;
  }
  const auto dropped = std::count(kept.begin(), kept.end(), false);
  if (dropped == 0 || static_cast<std::size_t>(dropped) == launches) return std::nullopt;
  return keep_launches(kernel, kept);
}

Result<RawProfile> subtract(const RawProfile& whole, const RawProfile& part) {
  RawProfile rest = whole;
  const KernelIndex index = index_of(part);
  for (KernelSeries& kernel : rest.kernels) {
    const auto it = index.find(kernel.name);
    if (it == index.end()) continue;
    const std::int64_t dropped = it->second->launches(), all = kernel.launches();
    if (dropped > all) {
      rest.notes.push_back(
          fmt::format("{} was launched {} times in the run to subtract, but only "
                      "{} times in the whole, so none are left",
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
