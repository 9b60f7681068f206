// SPDX-License-Identifier: Apache-2.0
#include "report/machine_curves.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/operations.h"
#include "core/text.h"
#include "report/json_text.h"
#include "report/curve_svg.h"
#include "report/svg.h"

namespace rooftile::report {

namespace {

using characterize::Pattern;
using characterize::Sample;
using nlohmann::ordered_json;

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

ordered_json curves_json(const std::vector<Curve>& curves) {
  ordered_json json = ordered_json::array();
  for (const Curve& curve : curves) {
    json.push_back({{"name", curve.name}, {"points", curve.points}});
  }
  return json;
}

ordered_json ceilings_json(const std::vector<Ceiling>& ceilings) {
  ordered_json json = ordered_json::array();
  for (const Ceiling& ceiling : ceilings) {
    json.push_back({{"name", ceiling.name},
                    {"value", ceiling.value},
                    {"unit", ceiling.dtype ? fmt::format("{}/s", operation_name(*ceiling.dtype))
                                           : std::string("B/s")}});
  }
  return json;
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
  machine.notes = ceilings->notes;
  return machine;
}

namespace {

std::vector<CurveChart::Ceiling> ceiling_lines(const std::vector<Ceiling>& ceilings) {
  std::vector<CurveChart::Ceiling> lines;
  for (const Ceiling& ceiling : ceilings) {
    lines.push_back(
        {.name = ceiling.name,
         .text = fmt::format("{} {}", ceiling.name,
                             ceiling.dtype ? format_rate(FlopsPerSecond::from_base(ceiling.value),
                                                         *ceiling.dtype, 3)
                                           : format_rate(BytesPerSecond::from_base(ceiling.value))),
         .value = ceiling.value});
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

std::string machine_curves_to_svg(const MachineCurves& machine) {
  std::vector<Drawing> drawings{
      {.width = 0,
       .height = 56,
       .body = fmt::format(R"(<text x="16" y="28" font-size="17" font-weight="bold">{}</text>)"
                           R"(<text x="16" y="48" fill="#555b63">{}</text>)"
                           "\n",
                           markup_escaped(machine.title), markup_escaped(machine.subtitle))}};
  for (const CurveChart& chart : charts_of(machine)) drawings.push_back(draw_curves(chart));
  return stacked_svg(machine.title, drawings);
}

std::string machine_curves_to_json(const MachineCurves& machine) {
  const ordered_json json{{"title", machine.title},
                          {"subtitle", machine.subtitle},
                          {"bandwidth", curves_json(machine.bandwidth)},
                          {"rate", curves_json(machine.rate)},
                          {"levels", ceilings_json(machine.levels)},
                          {"peaks", ceilings_json(machine.peaks)},
                          {"notes", machine.notes}};
  return json_text(json);
}

}  // namespace rooftile::report
