// SPDX-License-Identifier: Apache-2.0
#include "roofline/roofs.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "characterize/ert_rule.h"
#include "core/text.h"

namespace rooftile::roofline {

namespace {

using hardware::MemoryLevel;
using hardware::RateKey;

constexpr std::array kLevels{MemoryLevel::L1, MemoryLevel::L2, MemoryLevel::Dram};

std::string source_of(hardware::Provenance provenance, const hardware::Machine& machine) {
  if (provenance == hardware::Provenance::Measured)
    return "measured (" + machine.ceilings->file + ")";
  return std::string(name_of(provenance)) + " (" + machine.gpu.name + ")";
}

}  // namespace

std::optional<BytesPerSecond> Roofs::bandwidth(MemoryLevel level) const {
  for (const MemoryRoof& roof : memory) {
    if (roof.level == level) return roof.bandwidth;
  }
  return std::nullopt;
}

std::optional<FlopsPerSecond> Roofs::rate(RateKey key) const {
  for (const ComputeRoof& roof : compute) {
    if (roof.key == key) return roof.rate;
  }
  return std::nullopt;
}

std::optional<FlopsPerSecond> Roofs::highest() const {
  std::optional<FlopsPerSecond> best;
  for (const ComputeRoof& roof : compute) best = best ? max(*best, roof.rate) : roof.rate;
  return best;
}

std::string Roofs::provenance() const {
  std::set<std::string> kinds;
  const auto kind = [](const std::string& source) { return source.substr(0, source.find(' ')); };
  for (const MemoryRoof& roof : memory) kinds.insert(kind(roof.source));
  for (const ComputeRoof& roof : compute) kinds.insert(kind(roof.source));
  std::string text;
  for (const std::string& one : kinds) text += (text.empty() ? "" : " and ") + one;
  return text.empty() ? "none" : text;
}

Roofs roofs_of(const hardware::Machine& machine) {
  Roofs roofs;
  roofs.machine = machine.gpu.name;
  roofs.clock = machine.gpu.clock.boost;
  for (const MemoryLevel level : kLevels) {
    if (const auto ceiling = machine.bandwidth(level)) {
      roofs.memory.push_back({.name = std::string(name_of(level)),
                              .level = level,
                              .bandwidth = ceiling->value,
                              .source = source_of(ceiling->provenance, machine)});
    }
  }
  std::set<RateKey> keys;
  for (const auto& [key, rate] : machine.gpu.peak) keys.insert(key);
  if (machine.ceilings) {
    for (const auto& [key, rate] : machine.ceilings->rate) keys.insert(key);
    if (machine.ceilings->launch) roofs.launch = machine.ceilings->launch->value;
  }
  for (const RateKey key : keys) {
    if (const auto ceiling = machine.rate_ceiling(key)) {
      roofs.compute.push_back(
          {.key = key, .rate = ceiling->value, .source = source_of(ceiling->provenance, machine)});
    }
  }
  return roofs;
}

Roofs roofs_of(const hardware::Ceilings& ceilings) {
  const std::string source = "measured (" + ceilings.file + ")";
  Roofs roofs;
  roofs.machine = ceilings.device;
  const auto add = [&](std::string_view name, std::optional<MemoryLevel> level,
                       BytesPerSecond bandwidth) {
    roofs.memory.push_back(
        {.name = std::string(name), .level = level, .bandwidth = bandwidth, .source = source});
  };
  for (const auto& [level, ceiling] : ceilings.bandwidth) {
    add(name_of(level), level, ceiling.value);
  }
  if (ceilings.last_level) add("l3", std::nullopt, ceilings.last_level->value);
  for (const auto& [key, ceiling] : ceilings.rate) {
    roofs.compute.push_back({.key = key, .rate = ceiling.value, .source = source});
  }
  if (ceilings.launch) roofs.launch = ceilings.launch->value;
  return roofs;
}

Roofs roofs_of(std::span<const profile::ExportRoof> roofs, std::optional<Hertz> clock) {
  Roofs result;
  for (const profile::ExportRoof& roof : roofs) {
    const std::string source = "export (" + roof.formula + ")";
    if (roof.level) {
      result.memory.push_back({.name = std::string(name_of(*roof.level)),
                               .level = roof.level,
                               .bandwidth = BytesPerSecond::from_base(roof.value),
                               .source = source});
    } else if (roof.rate) {
      result.compute.push_back(
          {.key = *roof.rate, .rate = FlopsPerSecond::from_base(roof.value), .source = source});
      result.clock = clock;
    }
  }
  return result;
}

namespace {

/// Medians per (working set, trials) over the experiments, then the most trials per working set,
/// as ERT's `pre` and `max`.
std::vector<characterize::ErtPoint> ert_points(std::span<const profile::SweepSample> sweep) {
  std::map<std::pair<double, std::int64_t>, std::vector<profile::SweepSample>> groups;
  for (const profile::SweepSample& sample : sweep) {
    groups[{sample.working_set, sample.trials}].push_back(sample);
  }
  std::map<double, characterize::ErtPoint> points;  // the last one has the most trials
  for (auto& [key, samples] : groups) {
    std::sort(samples.begin(), samples.end(),  // ascending time is descending bandwidth
              [](const auto& a, const auto& b) { return a.bandwidth > b.bandwidth; });
    const profile::SweepSample& median = samples[samples.size() / 2];
    points[key.first] = {.working_set = Bytes::from_base(key.first),
                         .bandwidth = BytesPerSecond::from_base(median.bandwidth),
                         .rate = FlopsPerSecond::from_base(median.rate)};
  }
  std::vector<characterize::ErtPoint> result;
  for (const auto& [working_set, point] : points) result.push_back(point);
  return result;
}

}  // namespace

Roofs roofs_of(std::span<const profile::MeasuredRoof> roofs,
               std::span<const profile::SweepSample> sweep) {
  Roofs result;
  for (const profile::MeasuredRoof& roof : roofs) {
    const std::string source = "measured (" + roof.source + ")";
    if (roof.memory) {
      const std::string name =
          roof.level ? std::string(name_of(*roof.level)) : to_lower(roof.label);
      result.memory.push_back({.name = name,
                               .level = roof.level,
                               .bandwidth = BytesPerSecond::from_base(roof.value),
                               .source = source});
    } else if (roof.rate) {
      result.compute.push_back(
          {.key = *roof.rate, .rate = FlopsPerSecond::from_base(roof.value), .source = source});
    }
  }
  if (sweep.empty()) return result;
  // Every precision is a sweep of its own; the widest type moves the most bytes per instruction, so
  // the levels are those of its sweep.
  std::map<double, std::vector<profile::SweepSample>, std::greater<>> by_width;
  for (const profile::SweepSample& sample : sweep) {
    by_width[size_of(sample.dtype).base()].push_back(sample);
  }
  for (const auto& [width, samples] : by_width) {
    result.compute.push_back({.key = {samples.front().dtype, hardware::Pipe::Vector},
                              .rate = characterize::summarize_ert(ert_points(samples), {}).peak,
                              .source = "measured (ERT sweep, rule of ERT 1.1.0)"});
  }
  const auto summary = characterize::summarize_ert(ert_points(by_width.begin()->second), {});
  for (const characterize::ErtLevel& level : summary.levels) {
    MemoryRoof roof{.name = to_lower(level.name),
                    .level = std::nullopt,
                    .bandwidth = level.bandwidth,
                    .source = "measured (ERT sweep, rule of ERT 1.1.0)"};
    for (const MemoryLevel known : kLevels) {
      if (roof.name == name_of(known)) roof.level = known;
    }
    result.memory.push_back(std::move(roof));
  }
  return result;
}

Roofs prefer(Roofs first, const Roofs& second) {
  if (first.machine.empty()) first.machine = second.machine;
  if (!first.launch) first.launch = second.launch;
  if (first.compute.empty()) first.clock = second.clock;
  for (const MemoryRoof& roof : second.memory) {
    const bool known = std::any_of(first.memory.begin(), first.memory.end(),
                                   [&](const MemoryRoof& mine) { return mine.name == roof.name; });
    if (!known) first.memory.push_back(roof);
  }
  for (const ComputeRoof& roof : second.compute) {
    if (!first.rate(roof.key)) first.compute.push_back(roof);
  }
  return first;
}

}  // namespace rooftile::roofline
