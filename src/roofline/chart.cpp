// SPDX-License-Identifier: Apache-2.0
#include "roofline/chart.h"

#include <algorithm>
#include <map>
#include <set>

namespace rooftile::roofline {

namespace {

using hardware::MemoryLevel;
using hardware::Pipe;
using profile::KernelRecord;

constexpr double kMostOfTheTime = 0.5;

bool uses_tensor(const KernelRecord& record) {
  return std::any_of(record.flops_by.begin(), record.flops_by.end(), [](const auto& entry) {
    return entry.first.pipe == Pipe::Tensor && entry.second.base() > 0.0;
  });
}

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
  if (!record.time || !(record.time->base() > 0.0)) return;
  if (record.flops) point.rate = *record.flops / *record.time;
  if (point.bound) point.fraction_of_roof = *point.bound / *record.time;
  point.launch_bound = point.terms.launch / *record.time > kMostOfTheTime;
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

std::string class_of(const KernelRecord& record) {
  if (!record.flops) return "FLOPs not counted";
  if (record.zero_ai()) return "zero-AI";
  return uses_tensor(record) ? "tensor cores" : "vector";
}

using ByName = std::map<std::string, std::vector<KernelRecord>>;

std::vector<Difference> differences(const ByName& first, const ByName& second) {
  std::set<std::string> names;
  for (const auto& [name, records] : first) names.insert(name);
  for (const auto& [name, records] : second) names.insert(name);
  std::vector<Difference> result;
  for (const std::string& name : names) {
    Difference difference{.name = name,
                          .short_name = short_kernel_name(name),
                          .first = {},
                          .second = {},
                          .delta = {}};
    if (const auto it = first.find(name); it != first.end()) {
      difference.first = sum_records(it->second, name);
    }
    if (const auto it = second.find(name); it != second.end()) {
      difference.second = sum_records(it->second, name);
    }
    const auto time = [](const std::optional<KernelRecord>& record) {
      return record ? record->time.value_or(Seconds{}) : Seconds{};
    };
    difference.delta = time(difference.second) - time(difference.first);
    result.push_back(std::move(difference));
  }
  std::stable_sort(result.begin(), result.end(), [](const Difference& a, const Difference& b) {
    return std::abs(a.delta.base()) > std::abs(b.delta.base());
  });
  return result;
}

Comparison compare(const profile::Run& first, const profile::Run& second) {
  const auto grouped = [](const profile::Run& run, auto&& key) {
    ByName groups;
    for (const KernelRecord& record : run.kernels) groups[key(record)].push_back(record);
    return groups;
  };
  const auto name = [](const KernelRecord& record) { return record.name; };
  Comparison comparison{.first = first.label, .second = second.label, .kernels = {}, .classes = {}};
  comparison.kernels = differences(grouped(first, name), grouped(second, name));
  comparison.classes = differences(grouped(first, class_of), grouped(second, class_of));
  for (Difference& one : comparison.classes) one.short_name = one.name;
  return comparison;
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
    chart.phases.push_back(
        {.label = named.run.label, .files = named.files, .total = total_of(records)});
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
  if (options.compare && runs.size() == 2) chart.comparison = compare(runs[0].run, runs[1].run);
  for (profile::Warning& warning : check(chart, options)) {
    chart.warnings.push_back(std::move(warning));
  }
  return chart;
}

}  // namespace rooftile::roofline
