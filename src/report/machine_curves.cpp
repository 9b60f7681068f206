// SPDX-License-Identifier: Apache-2.0
#include "report/machine_curves.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/operations.h"
#include "core/text.h"
#include "report/json_text.h"
#include "report/svg.h"

namespace rooftile::report {

namespace {

using characterize::Pattern;
using characterize::Sample;
using nlohmann::ordered_json;

void add_point(std::vector<MeasuredCurve>& curves, const std::string& name, double x, double y) {
  if (!(x > 0.0 && y > 0.0)) return;
  auto it = std::find_if(curves.begin(), curves.end(),
                         [&](const MeasuredCurve& curve) { return curve.name == name; });
  if (it == curves.end()) it = curves.insert(curves.end(), {.name = name, .points = {}});
  it->points.emplace_back(x, y);
}

void sort_points(std::vector<MeasuredCurve>& curves) {
  for (MeasuredCurve& curve : curves) std::sort(curve.points.begin(), curve.points.end());
}

/// A curve needs two points; a single one is a ceiling, which is shown as such.
void drop_single_points(std::vector<MeasuredCurve>& curves) {
  std::erase_if(curves, [](const MeasuredCurve& curve) { return curve.points.size() < 2; });
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

struct Panel {
  std::string heading, x_title, y_title;
  const std::vector<MeasuredCurve>* curves = nullptr;
  const std::vector<Ceiling>* ceilings = nullptr;
  bool binary_x = false;
};

constexpr double kGiga = 1e9;
constexpr double kCurveLeft = 92, kCurveRight = 690, kCurveLegend = 706, kCurveWidth = 900,
                 kCurveHeight = 330;

std::string curves_svg(const std::vector<MeasuredCurve>& curves, const PlotFrame& frame,
                       double top) {
  std::string svg;
  for (std::size_t i = 0; i < curves.size(); ++i) {
    const MeasuredCurve& curve = curves[i];
    const std::string_view color = kCurveColors[i % kCurveColors.size()];
    const Mark mark = static_cast<Mark>(i % 3);
    const std::string style = fmt::format(R"(fill="{}")", color);
    std::string path, marks;
    for (const auto& [x, y] : curve.points) {
      path += fmt::format("{}{:.1f} {:.1f}", path.empty() ? "M" : "L", frame.x.place(x),
                          frame.y.place(y / kGiga));
      marks += marker_svg({.mark = mark,
                           .x = frame.x.place(x),
                           .y = frame.y.place(y / kGiga),
                           .size = 6,
                           .style = style,
                           .title = {}});
    }
    const double line = top + 12 + 20 * static_cast<double>(i);
    svg += fmt::format(R"(<path d="{}" fill="none" stroke="{}" stroke-width="1.5"/>)"
                       "\n{}",
                       path, color, marks);
    svg += marker_svg({.mark = mark,
                       .x = kCurveLegend + 6,
                       .y = line - 4,
                       .size = 8,
                       .style = style,
                       .title = {}});
    svg += fmt::format(R"(<text x="{:.0f}" y="{:.1f}">{}</text>)"
                       "\n",
                       kCurveLegend + 18, line, markup_escaped(curve.name));
  }
  return svg;
}

std::string panel_svg(const Panel& panel, double top) {
  LogRange xs, ys;
  for (const MeasuredCurve& curve : *panel.curves) {
    for (const auto& [x, y] : curve.points) {
      xs.include(x);
      ys.include(y / kGiga);
    }
  }
  std::vector<FlatLabel> labels;
  for (const Ceiling& ceiling : *panel.ceilings) {
    ys.include(ceiling.value / kGiga);
    labels.push_back({.value = ceiling.value / kGiga,
                      .text = fmt::format(
                          "{} {}", ceiling.name,
                          ceiling.dtype ? format_rate(FlopsPerSecond::from_base(ceiling.value),
                                                      *ceiling.dtype, 3)
                                        : format_rate(BytesPerSecond::from_base(ceiling.value)))});
  }
  const PlotFrame frame{.x = xs.axis(kCurveLeft, kCurveRight),
                        .y = ys.axis(top + kCurveHeight, top),
                        .x_title = panel.x_title,
                        .y_title = panel.y_title,
                        .binary_x = panel.binary_x};
  std::string svg =
      fmt::format(R"(<text x="{:.0f}" y="{:.0f}" font-size="14" font-weight="bold">{}</text>)"
                  "\n",
                  kCurveLeft, top - 10, panel.heading);
  svg += frame_svg(frame);
  const std::vector<double> shifts = label_shifts(frame.y, labels);
  for (std::size_t i = 0; i < labels.size(); ++i) {
    svg += segment_svg(frame,
                       {.x1 = frame.x.low,
                        .y1 = labels[i].value,
                        .x2 = frame.x.high,
                        .y2 = labels[i].value,
                        .label_shift = shifts[i]},
                       R"(stroke="#3b4046" stroke-dasharray="6 4")", labels[i].text);
  }
  svg += curves_svg(*panel.curves, frame, top);
  return svg;
}

ordered_json curves_json(const std::vector<MeasuredCurve>& curves) {
  ordered_json json = ordered_json::array();
  for (const MeasuredCurve& curve : curves) {
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

std::string machine_curves_to_svg(const MachineCurves& machine) {
  constexpr double kFirst = 92, kStep = kCurveHeight + 110;
  std::vector<Panel> panels;
  if (!machine.bandwidth.empty()) {
    panels.push_back({.heading = "Bandwidth against working set",
                      .x_title = "working set of all threads",
                      .y_title = "GB/s",
                      .curves = &machine.bandwidth,
                      .ceilings = &machine.levels,
                      .binary_x = true});
  }
  if (!machine.rate.empty()) {
    panels.push_back({.heading = "FLOP/s against intensity",
                      .x_title = "arithmetic intensity, FLOP/byte",
                      .y_title = "GFLOP/s",
                      .curves = &machine.rate,
                      .ceilings = &machine.peaks});
  }
  double top = kFirst;
  std::string body;
  for (const Panel& panel : panels) {
    body += panel_svg(panel, top);
    top += kStep;
  }
  std::string svg = open_svg(kCurveWidth, top - kStep + kCurveHeight + 60, machine.title);
  svg += fmt::format(R"(<text x="16" y="28" font-size="17" font-weight="bold">{}</text>)"
                     R"(<text x="16" y="48" fill="#555b63">{}</text>)"
                     "\n",
                     markup_escaped(machine.title), markup_escaped(machine.subtitle));
  return svg + body + "</svg>\n";
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
