// SPDX-License-Identifier: Apache-2.0
//
// The roofline as a picture for papers: roofs with their names, one marker per kernel and level
// (area: the time), the longest kernels numbered and listed below.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/operations.h"
#include "core/text.h"
#include "report/roofline_picture.h"
#include "report/roofline_svg.h"
#include "report/roofline_words.h"
#include "report/svg.h"

namespace rooftile::report {

namespace {

using roofline::Chart;
using roofline::Point;

/// Precisions that the kernels use; all of them when no kernel says.
std::vector<roofline::ComputeRoof> drawn_compute_roofs(const Chart& chart) {
  std::vector<roofline::ComputeRoof> used;
  for (const roofline::ComputeRoof& roof : chart.roofs.compute) {
    const bool any = std::any_of(chart.points.begin(), chart.points.end(), [&](const Point& point) {
      const auto it = point.record.flops_by.find(roof.key);
      const bool measured = it != point.record.flops_by.end() && it->second.base() > 0.0;
      return measured || (point.predicted && point.predicted->rate == name_of(roof.key));
    });
    if (any) used.push_back(roof);
  }
  return used.empty() ? chart.roofs.compute : used;
}

/// A flat line per height; precisions of the same rate and source share one.
struct FlatRoof {
  std::string names;
  roofline::ComputeRoof roof;
};

/// "measured", "export", "datasheet": the first word of a source.
std::string_view kind_of(std::string_view source) {
  return source.substr(0, source.find(' '));
}

std::vector<FlatRoof> flat_roofs(const std::vector<roofline::ComputeRoof>& roofs) {
  std::vector<FlatRoof> flat;
  for (const roofline::ComputeRoof& roof : roofs) {
    const auto same = std::find_if(flat.begin(), flat.end(), [&](const FlatRoof& other) {
      return std::abs(other.roof.rate / roof.rate - 1.0) < 0.005 &&
             is_integer(other.roof.key.dtype) == is_integer(roof.key.dtype) &&
             kind_of(other.roof.source) == kind_of(roof.source);
    });
    if (same == flat.end()) {
      flat.push_back({.names = name_of(roof.key), .roof = roof});
    } else {
      same->names += ", " + name_of(roof.key);
    }
  }
  return flat;
}

/// ", measured" where the roofs are from several sources; the heading says a single one.
std::string origin(const Chart& chart, std::string_view source) {
  const std::string_view kind = kind_of(source);
  return chart.roofs.provenance() == kind ? "" : fmt::format(", {}", kind);
}

std::string roofs_svg(const Chart& chart, const PlotFrame& frame,
                      const std::vector<FlatRoof>& compute) {
  double highest = 0, widest = 0;
  for (const FlatRoof& roof : compute) highest = std::max(highest, roof.roof.rate.base());
  for (const auto& roof : chart.roofs.memory) widest = std::max(widest, roof.bandwidth.base());
  const double ceiling = highest > 0 ? highest / 1e9 : frame.y.high;
  std::string svg;
  for (const roofline::MemoryRoof& roof : chart.roofs.memory) {
    const double gbps = roof.bandwidth.base() / 1e9, low = frame.y.low / 100;
    std::string name = roof.name;
    if (roof.level) name = kLevelColors[static_cast<std::size_t>(*roof.level)].name;
    svg += segment_svg(frame, {.x1 = low / gbps, .y1 = low, .x2 = ceiling / gbps, .y2 = ceiling},
                       kRoofStyle,
                       name + " " + format_rate(roof.bandwidth) + origin(chart, roof.source));
  }
  std::vector<FlatLabel> labels;
  for (const FlatRoof& roof : compute) {
    labels.push_back({.value = roof.roof.rate.base() / 1e9,
                      .text = fmt::format("{} {}{}", roof.names,
                                          format_rate(roof.roof.rate, roof.roof.key.dtype, 3),
                                          origin(chart, roof.roof.source))});
  }
  const std::vector<double> shifts = label_shifts(frame.y, labels);
  for (std::size_t i = 0; i < labels.size(); ++i) {
    const double y = labels[i].value, from = widest > 0 ? y * 1e9 / widest : frame.x.low;
    svg += segment_svg(frame,
                       {.x1 = from,
                        .y1 = y,
                        .x2 = std::max(frame.x.high, from),
                        .y2 = y,
                        .label_shift = shifts[i]},
                       kRoofStyle, labels[i].text);
  }
  return svg;
}

bool has_predictions(const Chart& chart) {
  return std::any_of(chart.points.begin(), chart.points.end(),
                     [](const Point& point) { return point.predicted.has_value(); });
}

/// Expected intensity of a level and expected rate, where there is a prediction.
struct Expected {
  double intensity, gflops;
};
std::optional<Expected> expected(const Point& point, std::size_t level) {
  if (!point.predicted || !(point.predicted->time.base() > 0.0) ||
      !(point.predicted->bytes[level].base() > 0.0) || !(point.predicted->flops.base() > 0.0)) {
    return std::nullopt;
  }
  const roofline::Prediction& p = *point.predicted;
  return Expected{(p.flops / p.bytes[level]).base(), (p.flops / p.time).base() / 1e9};
}

std::string predicted_style(std::string_view color) {
  return fmt::format(R"(fill="none" stroke="{}" stroke-width="1.4" stroke-dasharray="3 2")", color);
}

std::string predictions_svg(const Chart& chart, const PlotFrame& frame) {
  const MarkerSizes sizes(chart);
  std::string svg;
  for (const Point& point : chart.points) {
    for (std::size_t level = 0; level < 3; ++level) {
      const auto at = expected(point, level);
      if (!at) continue;
      svg += marker_svg(
          {.mark = kLevelMarks[level],
           .x = frame.x.place(at->intensity),
           .y = frame.y.place(at->gflops),
           .size = sizes.of(point),
           .style = predicted_style(kLevelColors[level].value),
           .title = fmt::format(
               "{}\n{}, predicted: {}, {} instead of {}{}", point.record.name,
               kLevelColors[level].name, point.predicted->shape, format_time(point.predicted->time),
               point.record.time ? format_time(*point.record.time) : "an unknown time",
               point.predicted->above_roof.empty() ? "" : "; " + point.predicted->above_roof)});
      if (!point.predicted->above_roof.empty()) {
        svg += above_roof_svg(frame.x.place(at->intensity), frame.y.place(at->gflops),
                              sizes.of(point));
      }
    }
  }
  return svg;
}

bool has_place(const Point& point, std::size_t level) {
  return point.rate && point.rate->base() > 0.0 && point.intensity[level] &&
         point.intensity[level]->base() > 0.0;
}

std::vector<bool> drawn_points(const Chart& chart) {
  std::vector<bool> drawn;
  for (const Point& point : chart.points) {
    drawn.push_back(has_place(point, 0) || has_place(point, 1) || has_place(point, 2));
  }
  return drawn;
}

/// More FLOPs raise intensity and rate by the same factor.
Direction more_flops(const PlotFrame& frame) {
  return {.dx = frame.x.place(10) - frame.x.place(1), .dy = frame.y.place(10) - frame.y.place(1)};
}

/// Longest first, so that small markers lie on top.
std::string points_svg(const Chart& chart, const PlotFrame& frame) {
  const MarkerSizes sizes(chart);
  NumberPlacer numbers(frame);
  std::string svg, arrows, rings;
  std::size_t number = 0;
  for (const Point& point : chart.points) {
    ++number;
    const double size = sizes.of(point);
    double right = 0, y = 0;
    for (std::size_t level = 0; level < 3; ++level) {
      if (!has_place(point, level)) continue;
      const double x = frame.x.place(point.intensity[level]->base());
      y = frame.y.place(point.rate->base() / 1e9);
      svg += marker_svg({.mark = kLevelMarks[level],
                         .x = x,
                         .y = y,
                         .size = size,
                         .style = run_style(kLevelColors[level].value, run_of(chart, point)),
                         .title = hover_text(chart, point, kLevelColors[level].name)});
      if (!point.record.flops_complete) arrows += lower_bound_svg(x, y, size, more_flops(frame));
      if (!point.above_roof.empty()) rings += above_roof_svg(x, y, size);
      right = std::max(right, x);
      if (number <= kListedKernels) numbers.avoid(x, y, size);
    }
    if (number <= kListedKernels && right > 0) numbers.add(right, y, size, number);
  }
  return svg + rings + arrows + numbers.svg();
}

PlotFrame frame_of(const Chart& chart, const std::vector<FlatRoof>& compute,
                   const PictureLayout& layout) {
  LogRange xs, ys;
  for (const Point& point : chart.points) {
    if (point.rate && point.rate->base() > 0.0) {
      ys.include(point.rate->base() / 1e9);
      for (const auto& intensity : point.intensity) {
        if (intensity) xs.include(intensity->base());
      }
    }
    for (std::size_t level = 0; level < 3; ++level) {
      const auto at = expected(point, level);
      if (!at) continue;
      xs.include(at->intensity);
      ys.include(at->gflops);
    }
  }
  for (const FlatRoof& flat : compute) {
    ys.include(flat.roof.rate.base() / 1e9);
    for (const auto& memory : chart.roofs.memory) {
      xs.include(flat.roof.rate.base() / memory.bandwidth.base());
    }
  }
  return {.x = xs.axis(layout.left, layout.right),
          .y = ys.axis(layout.bottom, layout.top),
          .x_title = fmt::format("arithmetic intensity, {}/byte", operations_of(chart)),
          .y_title = fmt::format("G{}/s", operations_of(chart))};
}

}  // namespace

Drawing draw_roofline(const Chart& chart) {
  std::vector<LegendEntry> legend = legend_of(chart, 0);
  if (has_predictions(chart)) {
    legend.push_back({.icon = marker_svg({.mark = Mark::Circle,
                                          .x = 0,
                                          .y = 0,
                                          .size = 11,
                                          .style = predicted_style("#555b63"),
                                          .title = {}}),
                      .text = "predicted"});
  }
  for (LegendEntry& entry : above_roof_legend(chart)) legend.push_back(std::move(entry));
  const std::vector<FlatRoof> compute = flat_roofs(drawn_compute_roofs(chart));
  const PlotFrame frame = frame_of(chart, compute, layout_of(legend));
  return draw_picture(chart,
                      {.legend = legend,
                       .plot = frame_svg(frame) + roofs_svg(chart, frame, compute) +
                               points_svg(chart, frame) + predictions_svg(chart, frame),
                       .note = "one marker per kernel and level; area: time; numbers: list below",
                       .drawn = drawn_points(chart)});
}

}  // namespace rooftile::report
