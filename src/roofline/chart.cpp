// SPDX-License-Identifier: Apache-2.0
#include "roofline/chart.h"

#include <algorithm>
#include <map>

#include "roofline/advice.h"
#include "roofline/compare.h"

namespace rooftile::roofline {

namespace {

using hardware::MemoryLevel;
using hardware::Pipe;
using profile::KernelRecord;

constexpr double kMostOfTheTime = 0.5;

BoundTerms bound_terms(const KernelRecord& record, const Roofs& roofs, Seconds overhead) {
  BoundTerms terms;
  for (const auto& [key, flops] : record.flops_by) {
    const auto rate = roofs.rate(key);
    if (!rate || flops.base() <= 0.0) continue;
    const Seconds time = flops / *rate;
    if (terms.compute && !(*terms.compute < time)) continue;
    terms.compute = time;
    terms.compute_roof = name_of(key);
  }
  for (const MemoryLevel level : hardware::kMemoryLevels) {
    const auto bytes = record.bytes_at(level);
    const auto bandwidth = roofs.bandwidth(level);
    if (bytes && bandwidth) terms.level[static_cast<std::size_t>(level)] = *bytes / *bandwidth;
  }
  terms.launch = static_cast<double>(record.launches) * overhead;
  return terms;
}

void raise(Point& point, double fraction, std::string_view limiter) {
  if (point.fraction_of_roof && !(*point.fraction_of_roof < fraction)) return;
  point.fraction_of_roof = fraction;
  point.limiter = limiter;
}

/// From rates, where there is no time: the same fractions, of one second.
void place_rates(Point& point, const Roofs& roofs) {
  const profile::Rates& rates = *point.record.rates;
  point.rate = rates.flops;
  for (const auto& [key, flops] : rates.flops_by) {
    const auto roof = roofs.rate(key);
    if (!roof || !(flops.base() > 0.0)) continue;
    const double before = point.fraction_of_roof.value_or(0.0);
    raise(point, flops / *roof, "compute");
    if (*point.fraction_of_roof > before) point.terms.compute_roof = name_of(key);
  }
  for (const MemoryLevel level : hardware::kMemoryLevels) {
    const auto index = static_cast<std::size_t>(level);
    const auto& bytes = rates.bytes[index];
    if (!bytes || !(bytes->base() > 0.0)) continue;
    if (rates.flops) point.intensity[index] = *rates.flops / *bytes;
    if (const auto roof = roofs.bandwidth(level)) raise(point, *bytes / *roof, name_of(level));
  }
}

/// By the profiler's own account, where nothing was counted that a roof could hold.
void place_shares(Point& point) {
  const profile::SpeedOfLight& shares = point.record.speed_of_light;
  if (shares.compute) raise(point, *shares.compute, "compute");
  for (const MemoryLevel level : hardware::kMemoryLevels) {
    const auto& share = shares.level[static_cast<std::size_t>(level)];
    if (share) raise(point, *share, name_of(level));
  }
}

void place(Point& point, const Roofs& roofs, Seconds overhead) {
  const KernelRecord& record = point.record;
  point.terms = bound_terms(record, roofs, overhead);
  if (point.terms.compute) {
    point.bound = point.terms.compute;
    point.limiter = "compute";
  }
  for (const MemoryLevel level : hardware::kMemoryLevels) {
    const auto index = static_cast<std::size_t>(level);
    const auto& time = point.terms.level[index];
    if (time && (!point.bound || *point.bound < *time)) {
      point.bound = time;
      point.limiter = name_of(level);
    }
    const auto bytes = record.bytes_at(level);
    if (record.flops && bytes && bytes->base() > 0.0)
      point.intensity[index] = *record.flops / *bytes;
  }
  if (record.rates) place_rates(point, roofs);
  if (record.time && record.time->base() > 0.0) {
    if (record.flops) point.rate = *record.flops / *record.time;
    if (point.bound) point.fraction_of_roof = *point.bound / *record.time;
    point.launch_bound = point.terms.launch / *record.time > kMostOfTheTime;
  }
  if (!point.fraction_of_roof && !point.bound) place_shares(point);
}

void add_to(Total& total, const KernelRecord& record) {
  total.kernels += 1;
  total.launches += record.launches;
  total.short_launches += record.short_launches;
  total.short_time += record.short_time;
  if (record.time) {
    total.time += *record.time;
    total.timed = true;
  }
  total.flops_complete = total.flops_complete && record.flops_complete && record.flops;
  total.uncounted += record.flops ? 0 : 1;
  if (record.flops) total.flops = total.flops.value_or(Flops{}) + *record.flops;
  for (const auto& [key, flops] : record.flops_by) {
    if (key.pipe == Pipe::Tensor) {
      total.tensor_flops = total.tensor_flops.value_or(Flops{}) + flops;
    }
  }
  if (uses_tensor(record) && record.time) total.tensor_time += *record.time;
  for (std::size_t i = 0; i < total.bytes.size(); ++i) {
    if (record.bytes[i]) total.bytes[i] = total.bytes[i].value_or(Bytes{}) + *record.bytes[i];
  }
}

Total total_of(const std::vector<const KernelRecord*>& records) {
  Total total;
  Seconds zero_time;
  for (const KernelRecord* record : records) {
    add_to(total, *record);
    if (!record->zero_ai()) continue;
    total.zero_ai.kernels += 1;
    total.zero_ai.launches += record->launches;
    if (record->time) zero_time += *record->time;
  }
  if (total.launches > 0) {
    total.zero_ai.launch_fraction =
        static_cast<double>(total.zero_ai.launches) / static_cast<double>(total.launches);
  }
  if (total.time.base() > 0.0) total.zero_ai.time_fraction = zero_time / total.time;
  return total;
}

std::vector<const KernelRecord*> pointers(const std::vector<KernelRecord>& records) {
  std::vector<const KernelRecord*> result;
  for (const KernelRecord& record : records) result.push_back(&record);
  return result;
}

/// Two kernels may get the same short name; later ones are numbered.
void make_unique(std::vector<Point>& points) {
  std::map<std::string, int> seen;
  for (Point& point : points) {
    const int count = ++seen[point.phase + "\n" + point.short_name];
    if (count > 1) point.short_name += " #" + std::to_string(count);
  }
}

void collect_formulas(const std::vector<NamedRun>& runs, Chart& chart) {
  for (const NamedRun& named : runs) {
    for (const profile::FormulaUse& use : named.run.formulas) {
      const auto same = std::find_if(
          chart.formulas.begin(), chart.formulas.end(), [&use](const profile::FormulaUse& known) {
            return known.quantity == use.quantity && known.text == use.text;
          });
      if (same == chart.formulas.end()) {
        chart.formulas.push_back(use);
      } else {
        same->kernels += use.kernels;
      }
    }
    for (profile::Warning warning : named.run.warnings) {
      if (runs.size() > 1) warning.message = named.run.label + ": " + warning.message;
      chart.warnings.push_back(std::move(warning));
    }
  }
}

}  // namespace

std::optional<FlopsPerByte> Total::intensity(MemoryLevel level) const {
  const auto& moved = bytes[static_cast<std::size_t>(level)];
  if (!flops || !moved || !(moved->base() > 0.0)) return std::nullopt;
  return *flops / *moved;
}

std::optional<FlopsPerSecond> Total::rate() const {
  if (!flops || !(time.base() > 0.0)) return std::nullopt;
  return *flops / time;
}

bool uses_tensor(const KernelRecord& record) {
  return std::any_of(record.flops_by.begin(), record.flops_by.end(), [](const auto& entry) {
    return entry.first.pipe == Pipe::Tensor && entry.second.base() > 0.0;
  });
}

std::string_view name_of(PairedBy paired) {
  switch (paired) {
    case PairedBy::Nothing: return "";
    case PairedBy::Name: return "name";
    case PairedBy::Operation: return "operation";
    case PairedBy::Class: return "class";
  }
  return "";
}

KernelRecord sum_records(const std::vector<KernelRecord>& records, std::string name) {
  KernelRecord sum;
  sum.name = std::move(name);
  double clock_time = 0.0, weighted = 0.0;
  for (const KernelRecord& record : records) {
    sum.launches += record.launches;
    sum.short_launches += record.short_launches;
    sum.short_time += record.short_time;
    sum.flops_complete = sum.flops_complete && record.flops_complete && record.flops;
    if (record.time) sum.time = sum.time.value_or(Seconds{}) + *record.time;
    if (record.flops) sum.flops = sum.flops.value_or(Flops{}) + *record.flops;
    for (const auto& [key, flops] : record.flops_by) sum.flops_by[key] += flops;
    for (std::size_t i = 0; i < sum.bytes.size(); ++i) {
      if (record.bytes[i]) sum.bytes[i] = sum.bytes[i].value_or(Bytes{}) + *record.bytes[i];
    }
    if (record.clock && record.time) {
      weighted += record.clock->base() * record.time->base();
      clock_time += record.time->base();
    }
  }
  if (clock_time > 0.0) sum.clock = Hertz::from_base(weighted / clock_time);
  return sum;
}

Chart make_chart(std::vector<NamedRun> runs, const Roofs& roofs, const ChartOptions& options) {
  Chart chart;
  chart.roofs = roofs;
  chart.launch_overhead = roofs.launch.value_or(options.launch_overhead);
  chart.binary_units = options.binary_units;
  collect_formulas(runs, chart);
  std::vector<const KernelRecord*> all;
  for (const NamedRun& named : runs) {
    const auto records = pointers(named.run.kernels);
    all.insert(all.end(), records.begin(), records.end());
    chart.phases.push_back({.label = named.run.label,
                            .files = named.files,
                            .total = total_of(records),
                            .timeline = named.run.timeline});
    if (!options.group_by_phase) {
      for (const KernelRecord& record : named.run.kernels) {
        Point point;
        point.record = record;
        point.short_name = short_kernel_name(record.name);
        point.phase = named.run.label;
        chart.points.push_back(std::move(point));
      }
    } else if (!named.run.kernels.empty()) {
      Point point;
      point.record = sum_records(named.run.kernels, named.run.label);
      point.short_name = point.phase = named.run.label;
      chart.points.push_back(std::move(point));
    }
  }
  chart.total = total_of(all);
  for (Point& point : chart.points) {
    place(point, chart.roofs, chart.launch_overhead);
    point.above_roof = above_roof_reason(point, chart.roofs);
    if (point.record.time && chart.total.time.base() > 0.0) {
      point.time_fraction = *point.record.time / chart.total.time;
    }
  }
  std::stable_sort(chart.points.begin(), chart.points.end(), [](const Point& a, const Point& b) {
    return a.record.time.value_or(Seconds{}) > b.record.time.value_or(Seconds{});
  });
  make_unique(chart.points);
  advise(chart);
  for (std::size_t i = 1; options.compare && i < runs.size(); ++i) {
    Comparison pair = compare(runs[0].run, runs[i].run);
    if (i == 1) {
      chart.comparison = std::move(pair);
    } else {
      chart.more_comparisons.push_back(std::move(pair));
    }
  }
  for (profile::Warning& warning : check(chart, options)) {
    chart.warnings.push_back(std::move(warning));
  }
  return chart;
}

}  // namespace rooftile::roofline
