// SPDX-License-Identifier: Apache-2.0
#include "report/curve_svg.h"

#include <fmt/format.h>

namespace rooftile::report {

namespace {

constexpr double kCurveGiga = 1e9;  ///< axes of rates are in G
constexpr double kCurveLeft = 92, kCurveRight = 690, kCurveLegend = 706, kCurveWidth = 900,
                 kCurveTop = 46, kCurveHeight = 330;

std::string curves_svg(const std::vector<Curve>& curves, const PlotFrame& frame, double top) {
  std::string svg;
  for (std::size_t i = 0; i < curves.size(); ++i) {
    const Curve& curve = curves[i];
    const std::string_view color = kCurveColors[i % kCurveColors.size()];
    const Mark mark = static_cast<Mark>(i % 3);
    const std::string style = fmt::format(R"(fill="{}")", color);
    std::string path, marks;
    for (const auto& [x, y] : curve.points) {
      path += fmt::format("{}{:.1f} {:.1f}", path.empty() ? "M" : "L", frame.x.place(x),
                          frame.y.place(y / kCurveGiga));
      marks += marker_svg({.mark = mark,
                           .x = frame.x.place(x),
                           .y = frame.y.place(y / kCurveGiga),
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

}  // namespace

Drawing draw_curves(const CurveChart& chart) {
  LogRange xs, ys;
  for (const Curve& curve : chart.curves) {
    for (const auto& [x, y] : curve.points) {
      xs.include(x);
      ys.include(y / kCurveGiga);
    }
  }
  std::vector<FlatLabel> labels;
  for (const CurveChart::Ceiling& ceiling : chart.ceilings) {
    ys.include(ceiling.value / kCurveGiga);
    labels.push_back({.value = ceiling.value / kCurveGiga, .text = ceiling.text});
  }
  const PlotFrame frame{.x = xs.axis(kCurveLeft, kCurveRight),
                        .y = ys.axis(kCurveTop + kCurveHeight, kCurveTop),
                        .x_title = chart.x_title,
                        .y_title = chart.y_title,
                        .binary_x = chart.binary_x};
  std::string svg =
      fmt::format(R"(<text x="{:.0f}" y="{:.0f}" font-size="14" font-weight="bold">{}</text>)"
                  "\n",
                  kCurveLeft, kCurveTop - 10, markup_escaped(chart.title));
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
  svg += curves_svg(chart.curves, frame, kCurveTop);
  return {.width = kCurveWidth, .height = kCurveTop + kCurveHeight + 60, .body = std::move(svg)};
}

}  // namespace rooftile::report
