// SPDX-License-Identifier: Apache-2.0
#include "hardware/roof_file.h"

#include <fmt/format.h>

#include <array>
#include <functional>
#include <map>

#include "core/text.h"
#include "hardware/ert_rule.h"

namespace rooftile::hardware {

namespace {

constexpr std::array kReaders{
    RoofReader{"ert", "Empirical Roofline Toolkit: roofline.json, sum, max, pre, try",
               recognises_ert, read_ert},
    RoofReader{"peak-table",
               "table of measured peaks (CSV): rocm-amdgpu-bench, or label, "
               "peak_flops, peak_bandwidth",
               recognises_peak_table, read_peak_table},
};

template <typename Q>
Measured<Q> measured(double value) {
  return {.value = Q::from_base(value), .low = {}, .high = {}, .samples = {}};
}

/// "L3", "L4": caches between L2 and memory.
bool is_outer_cache(std::string_view label) {
  return label.size() == 2 && label[0] == 'L' && label[1] >= '3' && label[1] <= '9';
}

Status add_memory(const MeasuredRoof& roof, Ceilings& out) {
  const auto value = measured<BytesPerSecond>(roof.value);
  if (roof.level) {
    out.bandwidth.try_emplace(*roof.level, value);
  } else if (roof.label == "LDS") {
    out.shared = out.shared.value_or(value);
  } else if (is_outer_cache(roof.label)) {
    // Levels beyond the second share one place; the one nearest to memory keeps it.
    if (out.last_level) {
      out.notes.push_back(fmt::format("another cache level at {:.2f} GB/s is not in the ceilings",
                                      out.last_level->value.base() * 1e-9));
    }
    out.last_level = value;
  } else {
    return bad_input(roof.where, fmt::format("unknown memory level \"{}\"", printable(roof.label)),
                     "one of L1, L2, L3, DRAM");
  }
  return {};
}

Status add_rate(const MeasuredRoof& roof, Ceilings& out) {
  if (!roof.rate)
    return bad_input(roof.where, fmt::format("unknown rate \"{}\"", printable(roof.label)),
                     "ERT writes \"GFLOPs\", \"FP64 GFLOPs\", \"FP32 GFLOPs\" or \"FP16 GFLOPs\"");
  out.rate.try_emplace(*roof.rate, measured<FlopsPerSecond>(roof.value));
  return {};
}

}  // namespace

std::span<const RoofReader> roof_readers() {
  return kReaders;
}

std::vector<MeasuredRoof> reduce_sweep(std::span<const SweepSample> sweep) {
  const std::string source = "ERT sweep, rule of ERT 1.1.0";
  std::vector<MeasuredRoof> roofs;
  // Every precision is a sweep of its own; the widest type moves the most bytes per instruction, so
  // the levels are those of its sweep.
  std::map<double, std::vector<SweepSample>, std::greater<>> by_width;
  for (const SweepSample& sample : sweep) {
    by_width[size_of(sample.dtype).base()].push_back(sample);
  }
  for (const auto& [width, samples] : by_width) {
    const RateKey key{.dtype = samples.front().dtype, .pipe = Pipe::Vector};
    roofs.push_back({.label = name_of(key),
                     .level = {},
                     .rate = key,
                     .value = summarize_ert(ert_points(samples), {}).peak.base(),
                     .memory = false,
                     .source = source,
                     .where = {}});
  }
  if (by_width.empty()) return roofs;
  for (const ErtLevel& level : summarize_ert(ert_points(by_width.begin()->second), {}).levels) {
    roofs.push_back({.label = level.name,
                     .level = parse_ert_level(level.name),
                     .rate = {},
                     .value = level.bandwidth.base(),
                     .memory = true,
                     .source = source,
                     .where = {}});
  }
  return roofs;
}

Result<Ceilings> ceilings_of(const RoofFile& file, const std::string& name) {
  Ceilings out;
  out.device = file.host.value_or("unknown machine");
  out.tool = file.tool;
  out.date = file.date.value_or("unknown");
  out.environment = file.environment;
  out.notes = file.notes;
  out.file = name;
  std::vector<MeasuredRoof> roofs = file.roofs;
  for (MeasuredRoof& roof : reduce_sweep(file.sweep)) {
    roof.where = name;
    if (roof.value > 0.0) roofs.push_back(std::move(roof));
  }
  constexpr double kMost = 1e19;  // B/s or FLOP/s
  for (const MeasuredRoof& roof : roofs) {
    if (!(roof.value > 0) || roof.value > kMost)
      return bad_input(roof.where,
                       fmt::format("\"{}\": {:g} {} is not a plausible rate", printable(roof.label),
                                   roof.value, roof.memory ? "B/s" : "FLOP/s"));
    ROOFTILE_CHECK(roof.memory ? add_memory(roof, out) : add_rate(roof, out));
  }
  if (out.bandwidth.empty() && out.rate.empty()) return bad_input(name, "contains no ceilings");
  return out;
}

}  // namespace rooftile::hardware
