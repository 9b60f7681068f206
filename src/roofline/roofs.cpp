// SPDX-License-Identifier: Apache-2.0
#include "roofline/roofs.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

#include "core/text.h"

namespace rooftile::roofline {

namespace {

using hardware::MemoryLevel;
using hardware::RateKey;

constexpr std::array kLevels{MemoryLevel::L1, MemoryLevel::L2, MemoryLevel::Dram};

std::string source_of(const hardware::Source& source, const hardware::Machine& machine) {
  if (source.kind == hardware::SourceKind::Measured)
    return "measured (" + machine.ceilings->file + ")";
  return name_of(source) + " (" + machine.gpu.name + ")";
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

namespace {

/// Measured levels that no data sheet names.
void add_other_levels(const hardware::Ceilings& ceilings, Roofs& roofs) {
  const auto add = [&](std::string_view name,
                       const std::optional<hardware::Measured<BytesPerSecond>>& bandwidth) {
    if (bandwidth)
      roofs.memory.push_back({.name = std::string(name),
                              .level = std::nullopt,
                              .bandwidth = bandwidth->value,
                              .source = "measured (" + ceilings.file + ")"});
  };
  add("l3", ceilings.last_level);
  add("lds", ceilings.shared);
}

}  // namespace

Roofs roofs_of(const hardware::Machine& machine) {
  Roofs roofs;
  roofs.machine = machine.gpu.name;
  roofs.clock = machine.gpu.clock.boost;
  for (const MemoryLevel level : hardware::kMemoryLevels) {
    if (const auto ceiling = machine.bandwidth(level)) {
      roofs.memory.push_back({.name = std::string(name_of(level)),
                              .level = level,
                              .bandwidth = ceiling->value,
                              .source = source_of(ceiling->source, machine)});
    }
  }
  if (machine.ceilings) add_other_levels(*machine.ceilings, roofs);
  std::set<RateKey> keys;
  for (const auto& [key, rate] : machine.gpu.peak) keys.insert(key);
  if (machine.ceilings) {
    for (const auto& [key, rate] : machine.ceilings->rate) keys.insert(key);
    if (machine.ceilings->launch) roofs.launch = machine.ceilings->launch->value;
  }
  for (const RateKey key : keys) {
    if (const auto ceiling = machine.rate_ceiling(key)) {
      roofs.compute.push_back(
          {.key = key, .rate = ceiling->value, .source = source_of(ceiling->source, machine)});
    }
  }
  return roofs;
}

Roofs roofs_of(const hardware::Ceilings& ceilings) {
  const std::string source = "measured (" + ceilings.file + ")";
  Roofs roofs;
  roofs.machine = ceilings.device;
  for (const auto& [level, ceiling] : ceilings.bandwidth) {
    roofs.memory.push_back({.name = std::string(name_of(level)),
                            .level = level,
                            .bandwidth = ceiling.value,
                            .source = source});
  }
  add_other_levels(ceilings, roofs);
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

Roofs roofs_of(std::span<const hardware::MeasuredRoof> roofs,
               std::span<const hardware::SweepSample> sweep) {
  std::vector<hardware::MeasuredRoof> all(roofs.begin(), roofs.end());
  for (hardware::MeasuredRoof& roof : hardware::reduce_sweep(sweep)) all.push_back(std::move(roof));
  Roofs result;
  for (const hardware::MeasuredRoof& roof : all) {
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
  return result;
}

Roofs at_clock(Roofs roofs, Hertz clock, const hardware::Machine& machine) {
  const hardware::Clocks& sheet = machine.gpu.clock;
  if (!(sheet.boost.base() > 0.0) || !(clock.base() > 0.0)) return roofs;
  const auto measured = [](const std::string& source) { return source.starts_with("measured"); };
  const std::string at = fmt::format(", at {:.0f} MHz", clock.base() * 1e-6);
  for (ComputeRoof& roof : roofs.compute) {
    if (measured(roof.source)) continue;
    const bool tensor = roof.key.pipe == hardware::Pipe::Tensor;
    roof.rate = roof.rate * (clock / (tensor ? sheet.tensor.value_or(sheet.boost) : sheet.boost));
    roof.source += at;
    roofs.boost = sheet.boost;
    roofs.clock = clock;
  }
  for (MemoryRoof& roof : roofs.memory) {
    if (roof.level != MemoryLevel::L1 || measured(roof.source)) continue;
    roof.bandwidth = roof.bandwidth * (clock / sheet.boost);
    roof.source += at;
  }
  return roofs;
}

Roofs prefer(Roofs first, const Roofs& second) {
  if (first.machine.empty()) first.machine = second.machine;
  if (!first.launch) first.launch = second.launch;
  if (first.compute.empty()) first.clock = second.clock;
  if (!first.boost) first.boost = second.boost;
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
