// SPDX-License-Identifier: Apache-2.0
#include "report/machine_curves.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/operations.h"
#include "core/text.h"
#include "report/svg.h"

namespace rooftile::report {

namespace {

using characterize::Pattern;
using characterize::Sample;

void add_point(std::vector<Curve>& curves, const std::string& name, double x, double y) {
  if (!(x > 0.0 && y > 0.0)) return;
  auto it = std::find_if(curves.begin(), curves.end(),
                         [&](const Curve& curve) { return curve.name == name; });
  if (it == curves.end()) it = curves.insert(curves.end(), {.name = name, .points = {}});
  it->points.emplace_back(x, y);
}

void sort_points(std::vector<Curve>& curves) {
  for (Curve& curve : curves) std::sort(curve.points.begin(), curve.points.end());
}

/// A curve needs two points; a single one is a ceiling, which is shown as such.
void drop_single_points(std::vector<Curve>& curves) {
  std::erase_if(curves, [](const Curve& curve) { return curve.points.size() < 2; });
}

std::vector<Ceiling> level_ceilings(const hardware::Ceilings& ceilings) {
  std::vector<Ceiling> levels;
  for (const auto& [level, value] : ceilings.bandwidth) {
    std::string name(name_of(level));
    for (char& c : name) c = static_cast<char>(c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c);
    levels.push_back({.name = name, .value = value.value.base(), .dtype = {}});
  }
  if (ceilings.last_level) {
    levels.push_back(
        {.name = "last level", .value = ceilings.last_level->value.base(), .dtype = {}});
  }
  if (ceilings.shared)
    levels.push_back({.name = "shared", .value = ceilings.shared->value.base(), .dtype = {}});
  return levels;
}

}  // namespace

MachineCurves machine_curves(std::span<const Sample> samples, const hardware::Ceilings* ceilings) {
  MachineCurves machine;
  for (const Pattern pattern : characterize::kAllPatterns) {
    if (!is_streaming(pattern)) continue;
    for (const Sample& sample : curve_over_sets(samples, pattern)) {
      add_point(machine.bandwidth,
                fmt::format("{} {}", name_of(pattern), name_of(sample.what.dtype)),
                sample.what.working_set.base(), bandwidth(sample).base());
    }
  }
  for (const Sample& sample : samples) {
    if (sample.what.pattern != Pattern::Update || !(sample.work.bytes.base() > 0.0)) continue;
    add_point(machine.rate,
              fmt::format("{}, {}", name_of(sample.what.dtype),
                          binary_size_text(sample.what.working_set.base())),
              (sample.work.flops / sample.work.bytes).base(), flop_rate(sample).base());
  }
  for (auto* curves : {&machine.bandwidth, &machine.rate}) {
    sort_points(*curves);
    drop_single_points(*curves);
  }
  machine.title = "measured machine";
  if (ceilings == nullptr) return machine;
  machine.title = ceilings->device;
  machine.subtitle = fmt::format("{}, {}", ceilings->tool, ceilings->date);
  machine.levels = level_ceilings(*ceilings);
  for (const auto& [key, value] : ceilings->rate) {
    machine.peaks.push_back(
        {.name = name_of(key), .value = value.value.base(), .dtype = key.dtype});
  }
  for (const auto& [name, value] : ceilings->latency) {
    machine.notes.push_back(fmt::format("{} latency {}", name, format_time(value.value)));
  }
  for (const auto& [name, value] : ceilings->link) {
    machine.notes.push_back(fmt::format("{} {}", name, format_rate(value.value)));
  }
  for (const auto& [name, value] : ceilings->product) {
    machine.notes.push_back(fmt::format("{} {}", name, format_rate(value.value)));
  }
  machine.notes.insert(machine.notes.end(), ceilings->notes.begin(), ceilings->notes.end());
  return machine;
}

std::string ceiling_rate(const Ceiling& ceiling) {
  return ceiling.dtype ? format_rate(FlopsPerSecond::from_base(ceiling.value), *ceiling.dtype, 3)
                       : format_rate(BytesPerSecond::from_base(ceiling.value));
}

std::string ceiling_text(const Ceiling& ceiling) {
  return fmt::format("{} {}", ceiling.name, ceiling_rate(ceiling));
}

namespace {

std::vector<CurveChart::Ceiling> ceiling_lines(const std::vector<Ceiling>& ceilings) {
  std::vector<CurveChart::Ceiling> lines;
  for (const Ceiling& ceiling : ceilings) {
    lines.push_back({.name = ceiling.name, .text = ceiling_text(ceiling), .value = ceiling.value});
  }
  return lines;
}

}  // namespace

std::vector<CurveChart> charts_of(const MachineCurves& machine) {
  std::vector<CurveChart> charts;
  if (!machine.bandwidth.empty()) {
    charts.push_back({.title = "Bandwidth against working set",
                      .x_title = "working set of all threads",
                      .y_title = "GB/s",
                      .x_unit = Unit::Bytes,
                      .y_unit = Unit::BytesPerSecond,
                      .curves = machine.bandwidth,
                      .ceilings = ceiling_lines(machine.levels),
                      .binary_x = true});
  }
  if (!machine.rate.empty()) {
    charts.push_back({.title = "FLOP/s against intensity",
                      .x_title = "arithmetic intensity, FLOP/byte",
                      .y_title = "GFLOP/s",
                      .x_unit = Unit::Number,
                      .y_unit = Unit::FlopsPerSecond,
                      .curves = machine.rate,
                      .ceilings = ceiling_lines(machine.peaks)});
  }
  return charts;
}

}  // namespace rooftile::report
