// SPDX-License-Identifier: Apache-2.0
//
// The time-based roofline as a picture [arXiv 2009.04598]: the time that the bytes of a level need
// against the time that the FLOPs need. A line leads from each kernel to what its measured time
// would have allowed; kernels inside the box of their launches are bound by launching them.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/text.h"
#include "report/lines.h"
#include "report/roofline_picture.h"
#include "report/roofline_svg.h"
#include "report/roofline_words.h"
#include "report/svg.h"

namespace rooftile::report {

namespace {

using roofline::Chart;
using roofline::Point;

constexpr std::size_t kLevel = static_cast<std::size_t>(hardware::MemoryLevel::Dram);
constexpr std::string_view kLaunchStyle =
    R"(stroke="#555b63" stroke-width="1.2" stroke-dasharray="5 4")";

constexpr std::string_view kLaunchIconStyle =
    R"(stroke="#555b63" stroke-width="1.2" stroke-dasharray="2 2")";

/// Times in ms that bytes and FLOPs need, and the factor by which the measured time is longer.
struct NeededTime {
  double bytes = 0, flops = 0, stretch = 1;
};

std::optional<NeededTime> needed_time(const Point& point) {
  const auto& bytes = point.terms.level[kLevel];
  const auto& time = point.record.time;
  const bool none = point.record.zero_ai();
  if (!bytes || !time || !(bytes->base() > 0.0) || (!point.terms.compute && !none)) {
    return std::nullopt;
  }
  NeededTime needed{.bytes = to_ms(*bytes), .flops = none ? 0.0 : to_ms(*point.terms.compute)};
  needed.stretch = to_ms(*time) / std::max(needed.bytes, needed.flops);
  return needed;
}

/// The fewest and the most launches of the kernels drawn, where they are known.
std::vector<std::int64_t> launch_range(const Chart& chart) {
  std::vector<std::int64_t> launches;
  for (const Point& point : chart.points) {
    if (point.record.launches > 0 && needed_time(point)) launches.push_back(point.record.launches);
  }
  if (launches.empty()) return {};
  const auto [fewest, most] = std::minmax_element(launches.begin(), launches.end());
  if (*fewest == *most) return {*most};
  return {*fewest, *most};
}

/// Below and left of the corner both bytes and FLOPs need less time than the launches.
std::string launch_boxes_svg(const Chart& chart, const PlotFrame& frame) {
  std::string svg;
  for (const std::int64_t launches : launch_range(chart)) {
    const Seconds time = static_cast<double>(launches) * chart.launch_overhead;
    const double corner = to_ms(time);
    const std::string label =
        fmt::format("{} launch{}: {}", launches, launches == 1 ? "" : "es", format_time(time));
    const std::string top = segment_svg(
        frame, {.x1 = std::min(frame.x.low, corner), .y1 = corner, .x2 = corner, .y2 = corner},
        kLaunchStyle, label);
    svg +=
        top +
        segment_svg(frame,
                    {.x1 = corner, .y1 = std::min(frame.y.low, corner), .x2 = corner, .y2 = corner},
                    kLaunchStyle, top.empty() ? label : "");
  }
  return svg;
}

PlotFrame frame_of(const Chart& chart, const PictureLayout& layout) {
  LogRange xs, ys;
  for (const Point& point : chart.points) {
    const auto needed = needed_time(point);
    if (!needed) continue;
    for (const double scale : {1.0, needed->stretch}) {
      xs.include(needed->bytes * scale);
      ys.include(needed->flops * scale);
    }
  }
  return {.x = xs.axis(layout.left, layout.right),
          .y = ys.axis(layout.bottom, layout.top),
          .x_title = fmt::format("time that the {} bytes need, ms", kLevelColors[kLevel].name),
          .y_title = fmt::format("time that the {}s need, ms", operations_of(chart))};
}

std::string needed_style() {
  return fmt::format(R"(fill="none" stroke="{}" stroke-width="1.3")", kLevelColors[kLevel].value);
}

std::string stretched_points_svg(const Chart& chart, const PlotFrame& frame) {
  const double floor = frame.y.value(frame.y.from - 5);  // kernels without FLOPs
  const std::string_view color = kLevelColors[kLevel].value;
  const MarkerSizes sizes(chart);
  NumberPlacer numbers(frame);
  std::string lines, marks;
  std::size_t number = 0;
  for (const Point& point : chart.points) {
    ++number;
    const auto needed = needed_time(point);
    if (!needed) continue;
    const double y1 = std::max(needed->flops, floor),
                 y2 = std::max(needed->flops * needed->stretch, floor),
                 x2 = needed->bytes * needed->stretch;
    lines += segment_svg(frame, {.x1 = needed->bytes, .y1 = y1, .x2 = x2, .y2 = y2},
                         fmt::format(R"(stroke="{}" stroke-opacity="0.6")", color), "");
    marks += marker_svg({.mark = Mark::Cross,
                         .x = frame.x.place(needed->bytes),
                         .y = frame.y.place(y1),
                         .size = 8,
                         .style = needed_style(),
                         .title = {}});
    if (!point.record.flops_complete) {
      marks +=
          lower_bound_svg(frame.x.place(needed->bytes), frame.y.place(y1), 8, {.dx = 0, .dy = -1});
    }
    marks += marker_svg({.mark = kLevelMarks[kLevel],
                         .x = frame.x.place(x2),
                         .y = frame.y.place(y2),
                         .size = sizes.of(point),
                         .style = run_style(color, run_of(chart, point)),
                         .title = hover_text(chart, point, kLevelColors[kLevel].name)});
    if (!point.above_roof.empty()) {
      marks += above_roof_svg(frame.x.place(x2), frame.y.place(y2), sizes.of(point));
    }
    if (number <= kListedKernels) {
      numbers.avoid(frame.x.place(x2), frame.y.place(y2), sizes.of(point));
      numbers.add(frame.x.place(x2), frame.y.place(y2), sizes.of(point), number);
    }
  }
  return lines + marks + numbers.svg();
}

std::vector<LegendEntry> time_legend(const Chart& chart) {
  std::vector<LegendEntry> legend = legend_of(chart, kLevel);
  legend.front().text += ": what the measured time allows";
  legend.push_back(
      {.icon = marker_svg(
           {.mark = Mark::Cross, .x = 0, .y = 0, .size = 8, .style = needed_style(), .title = {}}),
       .text = "needed at the roofs"});
  if (!launch_range(chart).empty()) {
    legend.push_back(
        {.icon = fmt::format(R"(<path d="M-7 -4h12v9" fill="none" {}/>)", kLaunchIconStyle),
         .text = fmt::format("launches, {} each; inside: bound by them",
                             format_time(chart.launch_overhead))});
  }
  for (LegendEntry& entry : above_roof_legend(chart)) legend.push_back(std::move(entry));
  return legend;
}

}  // namespace

Drawing draw_time_roofline(const Chart& chart) {
  const std::vector<LegendEntry> legend = time_legend(chart);
  const PlotFrame frame = frame_of(chart, layout_of(legend));
  const double low = std::min(frame.x.low, frame.y.low),
               high = std::max(frame.x.high, frame.y.high);
  const std::string balance = segment_svg(frame, {.x1 = low, .y1 = low, .x2 = high, .y2 = high},
                                          kRoofStyle, "machine balance");
  std::vector<bool> drawn;
  bool on_edge = false;
  for (const Point& point : chart.points) {
    drawn.push_back(needed_time(point).has_value());
    on_edge = on_edge || point.record.zero_ai();
  }
  std::string note = "area: time; numbers: list below";
  if (on_edge) note += "; on the lower edge: no FLOPs";
  return draw_picture(chart, {.legend = legend,
                              .plot = frame_svg(frame) + balance + launch_boxes_svg(chart, frame) +
                                      stretched_points_svg(chart, frame),
                              .note = note,
                              .drawn = drawn});
}

}  // namespace rooftile::report
