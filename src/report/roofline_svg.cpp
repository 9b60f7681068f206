// SPDX-License-Identifier: Apache-2.0
//
// The roofline as a picture for papers: roofs with their names, one marker per kernel and level
// (shape and colour say the level, area the time), the longest kernels numbered and listed below.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/text.h"
#include "report/roofline_view.h"
#include "report/svg.h"
#include "report/table.h"

namespace rooftile::report {

namespace {

using roofline::Chart;
using roofline::Point;

constexpr double kWidth = 900, kLeft = 92, kRight = 876, kTop = 74, kBottom = 560;
constexpr double kListTop = kBottom + 74, kListRow = 19;
constexpr std::size_t kListed = 10;
constexpr std::array<Mark, 3> kMarks{Mark::Triangle, Mark::Diamond, Mark::Circle};
constexpr std::string_view kRoofStyle = R"(stroke="#3b4046" stroke-width="1.6")";

double size_of(const Point& point, double largest) {
  return 6 + 26 * std::sqrt(std::max(0.0, point.time_fraction) / largest);
}

double largest_share(const Chart& chart) {
  double largest = 1e-12;
  for (const Point& point : chart.points) largest = std::max(largest, point.time_fraction);
  return largest;
}

std::string hover(const Chart& chart, const Point& point, std::string_view level) {
  std::string text = fmt::format("{}\n{}: {} of the time", point.record.name, level,
                                 fmt::format("{:.1f} %", point.time_fraction * 100));
  if (point.rate) text += fmt::format(", {:.4g} GFLOP/s", chart_gflops(chart, *point.rate));
  if (point.fraction_of_roof)
    text += fmt::format(", {:.1f} % of roof", *point.fraction_of_roof * 100);
  return text;
}

/// "fp16_tensor", "DRAM", "roof" where it is unknown.
std::string limiter_name(const Point& point) {
  if (point.limiter == "compute") return point.terms.compute_roof;
  for (const hardware::MemoryLevel level :
       {hardware::MemoryLevel::L1, hardware::MemoryLevel::L2, hardware::MemoryLevel::Dram}) {
    if (point.limiter == name_of(level)) {
      return std::string(kLevelColors[static_cast<std::size_t>(level)].name);
    }
  }
  return "roof";
}

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

/// A flat line per height; precisions of the same rate share one.
struct FlatRoof {
  std::string names;
  FlopsPerSecond rate;
};

std::vector<FlatRoof> flat_roofs(const std::vector<roofline::ComputeRoof>& roofs) {
  std::vector<FlatRoof> flat;
  for (const roofline::ComputeRoof& roof : roofs) {
    const auto same = std::find_if(flat.begin(), flat.end(), [&](const FlatRoof& other) {
      return std::abs(other.rate / roof.rate - 1.0) < 0.005;
    });
    if (same == flat.end()) {
      flat.push_back({.names = name_of(roof.key), .rate = roof.rate});
    } else {
      same->names += ", " + name_of(roof.key);
    }
  }
  return flat;
}

std::string roofs_svg(const Chart& chart, const PlotFrame& frame,
                      const std::vector<FlatRoof>& compute) {
  double highest = 0, widest = 0;
  for (const FlatRoof& roof : compute) highest = std::max(highest, roof.rate.base());
  for (const auto& roof : chart.roofs.memory) widest = std::max(widest, roof.bandwidth.base());
  const double ceiling = highest > 0 ? highest / 1e9 : frame.y.high;
  std::string svg;
  for (const roofline::MemoryRoof& roof : chart.roofs.memory) {
    const double gbps = roof.bandwidth.base() / 1e9, low = frame.y.low / 100;
    std::string name = roof.name;
    if (roof.level) name = kLevelColors[static_cast<std::size_t>(*roof.level)].name;
    svg += segment_svg(frame, {.x1 = low / gbps, .y1 = low, .x2 = ceiling / gbps, .y2 = ceiling},
                       kRoofStyle, name + " " + format_rate(roof.bandwidth));
  }
  std::vector<FlatLabel> labels;
  for (const FlatRoof& roof : compute) {
    labels.push_back(
        {.value = roof.rate.base() / 1e9, .text = roof.names + " " + format_rate(roof.rate)});
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

std::string number_svg(double right, double y, std::size_t number) {
  return fmt::format(R"(<text x="{:.1f}" y="{:.1f}" font-weight="bold" stroke="white" )"
                     R"(stroke-width="3" paint-order="stroke">{}</text>)"
                     "\n",
                     right + 2, y + 4, number);
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

std::string predictions_svg(const Chart& chart, const PlotFrame& frame) {
  const double largest = largest_share(chart);
  std::string svg;
  for (const Point& point : chart.points) {
    for (std::size_t level = 0; level < 3; ++level) {
      const auto at = expected(point, level);
      if (!at) continue;
      svg += marker_svg(
          {.mark = kMarks[level],
           .x = frame.x.place(at->intensity),
           .y = frame.y.place(at->gflops),
           .size = size_of(point, largest),
           .style = fmt::format(R"(fill="none" stroke="{}" stroke-width="1.4" )"
                                R"(stroke-dasharray="3 2")",
                                kLevelColors[level].value),
           .title = fmt::format(
               "{}\n{}, predicted: {}, {} instead of {}", point.record.name,
               kLevelColors[level].name, point.predicted->shape, format_time(point.predicted->time),
               point.record.time ? format_time(*point.record.time) : "an unknown time")});
    }
  }
  return svg;
}

/// Longest first, so that small markers lie on top.
std::string points_svg(const Chart& chart, const PlotFrame& frame) {
  const double largest = largest_share(chart);
  std::string svg, numbers;
  std::size_t number = 0;
  for (const Point& point : chart.points) {
    ++number;
    if (!point.rate || !(point.rate->base() > 0.0)) continue;
    const double y = frame.y.place(point.rate->base() / 1e9);
    double right = 0;
    for (std::size_t level = 0; level < 3; ++level) {
      if (!point.intensity[level] || !(point.intensity[level]->base() > 0.0)) continue;
      const double x = frame.x.place(point.intensity[level]->base()),
                   size = size_of(point, largest);
      svg += marker_svg({.mark = kMarks[level],
                         .x = x,
                         .y = y,
                         .size = size,
                         .style = fmt::format(R"(fill="{}" fill-opacity="0.8" stroke="white" )"
                                              R"(stroke-width="0.7")",
                                              kLevelColors[level].value),
                         .title = hover(chart, point, kLevelColors[level].name)});
      right = std::max(right, x + size / 2);
    }
    if (number <= kListed && right > 0) numbers += number_svg(right, y, number);
  }
  return svg + numbers;
}

/// What the markers of the levels from `first` on look like.
std::string legend_svg(std::size_t first, std::string_view note) {
  std::string svg;
  double x = kLeft;
  for (std::size_t level = first; level < 3; ++level) {
    svg += marker_svg({.mark = kMarks[level],
                       .x = x + 6,
                       .y = 58,
                       .size = 11,
                       .style = fmt::format(R"(fill="{}")", kLevelColors[level].value),
                       .title = {}});
    svg += fmt::format(R"(<text x="{:.0f}" y="62">{}</text>)", x + 17, kLevelColors[level].name);
    x += 66;
  }
  return svg + fmt::format(R"(<text x="{:.0f}" y="62" fill="#555b63">{}</text>)"
                           "\n",
                           x, note);
}

std::string list_svg(const Chart& chart) {
  std::string svg;
  const std::size_t shown = std::min(chart.points.size(), kListed);
  for (std::size_t i = 0; i < shown; ++i) {
    const Point& point = chart.points[i];
    const double y = kListTop + kListRow * static_cast<double>(i);
    svg += fmt::format(
        R"(<text x="{0:.0f}" y="{4:.1f}" text-anchor="end" font-weight="bold">{5}</text>)"
        R"(<text x="{1:.0f}" y="{4:.1f}">{6}<title>{7}</title></text>)"
        R"(<text x="{2:.0f}" y="{4:.1f}" text-anchor="end">{8:.1f} %</text>)"
        R"(<text x="{3:.0f}" y="{4:.1f}">{9}</text>)"
        "\n",
        kLeft - 8, kLeft, 640.0, 660.0, y, i + 1, markup_escaped(shorten(point.short_name, 76)),
        markup_escaped(point.record.name), point.time_fraction * 100,
        point.fraction_of_roof
            ? fmt::format("{:.1f} % of {}{}", *point.fraction_of_roof * 100, limiter_name(point),
                          point.record.flops_complete ? "" : ", FLOPs incomplete")
        : point.record.zero_ai() ? "no FLOPs"
                                 : "");
  }
  if (shown < chart.points.size()) {
    double rest = 0;
    for (std::size_t i = shown; i < chart.points.size(); ++i) rest += chart.points[i].time_fraction;
    svg += fmt::format(R"(<text x="{:.0f}" y="{:.1f}" fill="#555b63">and {} more, {:.1f} % of the )"
                       R"(time</text>)"
                       "\n",
                       kLeft, kListTop + kListRow * static_cast<double>(shown),
                       chart.points.size() - shown, rest * 100);
  }
  return svg;
}

struct Picture {
  std::string plot, note;
  std::size_t first_level = 0;  ///< of the legend
};

std::string picture_svg(const Chart& chart, const Picture& picture) {
  const std::size_t rows =
      std::min(chart.points.size(), kListed) + (chart.points.size() > kListed ? 1 : 0);
  std::string svg = open_svg(kWidth, kListTop + kListRow * static_cast<double>(rows), chart.title);
  std::string roofs =
      chart.roofs.machine.empty() ? "" : " under the roofs of " + chart.roofs.machine;
  if (chart.title.find(chart.roofs.machine) != std::string::npos) roofs.clear();
  svg += fmt::format(R"(<text x="16" y="28" font-size="16" font-weight="bold">{}</text>)"
                     "\n",
                     markup_escaped(shorten(chart.title + roofs, 84)));
  return svg + legend_svg(picture.first_level, picture.note) + picture.plot + list_svg(chart) +
         "</svg>\n";
}

std::string time_plot(const Chart& chart, std::size_t level) {
  struct Pair {
    const Point* point;
    std::size_t number;
    double ideal_x, ideal_y, stretch;
  };
  std::vector<Pair> pairs;
  LogRange xs, ys;
  std::size_t number = 0;
  for (const Point& point : chart.points) {
    ++number;
    const auto& bytes = point.terms.level[level];
    const auto& time = point.record.time;
    const bool none = point.record.zero_ai();
    if (!bytes || !time || !(bytes->base() > 0.0) || (!point.terms.compute && !none)) continue;
    const double x = to_ms(*bytes), y = none ? 0.0 : to_ms(*point.terms.compute);
    const double stretch = to_ms(*time) / std::max(x, y);
    pairs.push_back({&point, number, x, y, stretch});
    for (const double scale : {1.0, stretch}) {
      xs.include(x * scale);
      ys.include(y * scale);
    }
  }
  const PlotFrame frame{
      .x = xs.axis(kLeft, kRight),
      .y = ys.axis(kBottom, kTop),
      .x_title = fmt::format("time that the {} bytes need, ms", kLevelColors[level].name),
      .y_title = "time that the FLOPs need, ms"};
  const double low = std::min(frame.x.low, frame.y.low),
               high = std::max(frame.x.high, frame.y.high);
  std::string svg = frame_svg(frame);
  svg += segment_svg(frame, {.x1 = low, .y1 = low, .x2 = high, .y2 = high}, kRoofStyle,
                     "machine balance");
  const double floor = frame.y.value(kBottom - 5);  // kernels without FLOPs
  const double largest = largest_share(chart);
  const std::string_view color = kLevelColors[level].value;
  std::string marks, numbers;
  for (const Pair& pair : pairs) {
    const double y1 = std::max(pair.ideal_y, floor),
                 y2 = std::max(pair.ideal_y * pair.stretch, floor);
    svg += segment_svg(frame,
                       {.x1 = pair.ideal_x, .y1 = y1, .x2 = pair.ideal_x * pair.stretch, .y2 = y2},
                       fmt::format(R"(stroke="{}" stroke-opacity="0.6")", color), "");
    marks += marker_svg({.mark = kMarks[level],
                         .x = frame.x.place(pair.ideal_x),
                         .y = frame.y.place(y1),
                         .size = 7,
                         .style = fmt::format(R"(fill="white" stroke="{}")", color),
                         .title = {}});
    marks +=
        marker_svg({.mark = kMarks[level],
                    .x = frame.x.place(pair.ideal_x * pair.stretch),
                    .y = frame.y.place(y2),
                    .size = size_of(*pair.point, largest),
                    .style = fmt::format(R"(fill="{}" fill-opacity="0.8" stroke="white")", color),
                    .title = hover(chart, *pair.point, kLevelColors[level].name)});
    if (pair.number <= kListed) {
      const double right =
          frame.x.place(pair.ideal_x * pair.stretch) + size_of(*pair.point, largest) / 2;
      numbers += number_svg(right, frame.y.place(y2), pair.number);
    }
  }
  return svg + marks + numbers;
}

}  // namespace

std::string roofline_to_svg(const Chart& chart) {
  const std::vector<FlatRoof> compute = flat_roofs(drawn_compute_roofs(chart));
  LogRange xs, ys;
  for (const Point& point : chart.points) {
    if (!point.rate || !(point.rate->base() > 0.0)) continue;
    ys.include(point.rate->base() / 1e9);
    for (const auto& intensity : point.intensity) {
      if (intensity) xs.include(intensity->base());
    }
  }
  for (const Point& point : chart.points) {
    for (std::size_t level = 0; level < 3; ++level) {
      const auto at = expected(point, level);
      if (!at) continue;
      xs.include(at->intensity);
      ys.include(at->gflops);
    }
  }
  for (const FlatRoof& roof : compute) {
    ys.include(roof.rate.base() / 1e9);
    for (const auto& memory : chart.roofs.memory)
      xs.include(roof.rate.base() / memory.bandwidth.base());
  }
  const PlotFrame frame{.x = xs.axis(kLeft, kRight),
                        .y = ys.axis(kBottom, kTop),
                        .x_title = "arithmetic intensity, FLOP/byte",
                        .y_title = "GFLOP/s"};
  std::string note = "one marker per kernel and level; area: time; numbers: list below";
  if (has_predictions(chart)) note += "; dashed: predicted";
  return picture_svg(chart, {.plot = frame_svg(frame) + roofs_svg(chart, frame, compute) +
                                     points_svg(chart, frame) + predictions_svg(chart, frame),
                             .note = note});
}

std::string roofline_times_to_svg(const Chart& chart) {
  const bool on_edge = std::any_of(chart.points.begin(), chart.points.end(),
                                   [](const Point& point) { return point.record.zero_ai(); });
  std::string note = "hollow: needed at the roofs; solid: what the measured time allows";
  if (on_edge) note += "; on the lower edge: no FLOPs";
  return picture_svg(chart, {.plot = time_plot(chart, 2), .note = note, .first_level = 2});
}

}  // namespace rooftile::report
