// SPDX-License-Identifier: Apache-2.0
#include "report/roofline_picture.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "report/lines.h"
#include "report/roofline_words.h"

namespace rooftile::report {

namespace {

using roofline::Chart;
using roofline::Point;

constexpr double kWidth = 900, kLeft = 92, kRight = 876, kPlotHeight = 486;
constexpr double kLegendTop = 68, kLegendRow = 20, kListGap = 90, kListRow = 19;
constexpr double kCharacter = 6.6;  ///< mean width in 12 pixel text
constexpr std::string_view kMuted = R"(fill="#555b63")";

struct PlacedEntry {
  double x = 0, y = 0;
};

/// Entries from left to right, in as many rows as it takes.
std::vector<PlacedEntry> place_legend(const std::vector<LegendEntry>& legend) {
  std::vector<PlacedEntry> places;
  double x = kLeft, y = kLegendTop;
  for (const LegendEntry& entry : legend) {
    const double width = 17 + kCharacter * static_cast<double>(entry.text.size());
    if (x > kLeft && x + width > kRight) {
      x = kLeft;
      y += kLegendRow;
    }
    places.push_back({.x = x, .y = y});
    x += width + 20;
  }
  return places;
}

std::string legend_svg(const std::vector<LegendEntry>& legend) {
  const std::vector<PlacedEntry> places = place_legend(legend);
  std::string svg;
  for (std::size_t i = 0; i < legend.size(); ++i) {
    svg += fmt::format(R"svg(<g transform="translate({:.1f} {:.1f})">{}</g>)svg"
                       R"(<text x="{:.1f}" y="{:.1f}">{}</text>)"
                       "\n",
                       places[i].x + 6, places[i].y - 4, legend[i].icon, places[i].x + 17,
                       places[i].y, markup_escaped(legend[i].text));
  }
  return svg;
}

std::string level_icon(std::size_t level, const std::string& style) {
  return marker_svg(
      {.mark = kLevelMarks[level], .x = 0, .y = 0, .size = 11, .style = style, .title = {}});
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

/// "68.0 % of DRAM; not drawn: no FLOPs"
std::string remark(const Point& point, bool drawn) {
  const profile::KernelRecord& record = point.record;
  std::string text;
  if (point.fraction_of_roof) {
    text = fmt::format("{}{:.1f} % of {}", at_least(record.flops_complete),
                       *point.fraction_of_roof * 100, limiter_name(point));
    if (!point.above_roof.empty()) text += ", see the ring";
  }
  if (drawn) return text;
  if (!text.empty()) text += "; ";
  if (!record.flops || !record.flops_complete) return text + "not drawn: FLOPs unknown";
  return text + (record.zero_ai() ? "not drawn: no FLOPs" : "not drawn");
}

std::string list_row(const Chart& chart, std::size_t i, double y, bool drawn) {
  constexpr double kShare = 604, kRemark = 618;
  const Point& point = chart.points[i];
  const bool runs = chart.phases.size() > 1;
  const double name = runs ? kLeft + 96 : kLeft;
  std::string svg = fmt::format(
      R"(<text x="{0:.0f}" y="{1:.1f}" text-anchor="end" font-weight="bold">{2}</text>)", kLeft - 8,
      y, i + 1);
  if (runs) {
    svg += fmt::format(R"(<text x="{:.0f}" y="{:.1f}">{}</text>)", kLeft, y,
                       markup_escaped(shorten(point.phase, 14)));
  }
  return svg + fmt::format(R"(<text x="{:.0f}" y="{:.1f}">{}<title>{}</title></text>)"
                           R"(<text x="{:.0f}" y="{:.1f}" text-anchor="end">{:.1f} %</text>)"
                           R"(<text x="{:.0f}" y="{:.1f}">{}</text>)"
                           "\n",
                           name, y, markup_escaped(shorten(point.short_name, runs ? 54 : 68)),
                           markup_escaped(point.record.name), kShare, y, point.time_fraction * 100,
                           kRemark, y, markup_escaped(remark(point, drawn)));
}

std::string muted_line(double y, std::string_view text) {
  return fmt::format(R"(<text x="{:.0f}" y="{:.1f}" {}>{}</text>)"
                     "\n",
                     kLeft, y, kMuted, markup_escaped(text));
}

/// The lines below the plot: rows of the list, then what the list leaves out.
std::vector<std::string> closing_lines(const Chart& chart) {
  std::vector<std::string> lines;
  if (chart.points.size() > kListedKernels) {
    double rest = 0;
    for (std::size_t i = kListedKernels; i < chart.points.size(); ++i) {
      rest += chart.points[i].time_fraction;
    }
    lines.push_back(fmt::format("and {} more, {:.1f} % of the time",
                                chart.points.size() - kListedKernels, rest * 100));
  }
  if (chart.total.kernels > 0) lines.push_back(census_text(chart.total));
  if (std::string note = at_least_note(chart); !note.empty()) lines.push_back(std::move(note));
  return lines;
}

/// "roofs of NVIDIA A100 SXM4 40GB: measured and datasheet"
std::string roofs_line(const Chart& chart) {
  if (chart.roofs.memory.empty() && chart.roofs.compute.empty()) return "no roofs";
  return fmt::format("roofs{}: {}", chart.roofs.machine.empty() ? "" : " of " + chart.roofs.machine,
                     chart.roofs.provenance());
}

}  // namespace

std::vector<LegendEntry> legend_of(const Chart& chart, std::size_t first_level) {
  std::vector<LegendEntry> legend;
  for (std::size_t level = first_level; level < kLevelColors.size(); ++level) {
    legend.push_back({.icon = level_icon(level, run_style(kLevelColors[level].value, 0)),
                      .text = std::string(kLevelColors[level].name)});
  }
  for (std::size_t run = 0; run < chart.phases.size() && chart.phases.size() > 1; ++run) {
    legend.push_back({.icon = level_icon(2, run_style("#555b63", run)),
                      .text = shorten(chart.phases[run].label, 30)});
  }
  if (!at_least_note(chart).empty()) {
    legend.push_back({.icon = lower_bound_svg(-4, 5, 0, {.dx = 1, .dy = -1}),
                      .text = "FLOPs incomplete: a lower bound"});
  }
  return legend;
}

PictureLayout layout_of(const std::vector<LegendEntry>& legend) {
  const std::vector<PlacedEntry> places = place_legend(legend);
  const double top = (places.empty() ? kLegendTop : places.back().y) + 14;
  return {.left = kLeft, .right = kRight, .top = top, .bottom = top + kPlotHeight};
}

Drawing draw_picture(const Chart& chart, const Picture& picture) {
  const double bottom = layout_of(picture.legend).bottom;
  const std::size_t listed = std::min(chart.points.size(), kListedKernels);
  const std::vector<std::string> closing = closing_lines(chart);
  double y = bottom + kListGap;
  const double height = y + kListRow * static_cast<double>(listed + closing.size());
  std::string svg = fmt::format(R"(<text x="16" y="28" font-size="16" font-weight="bold">{}</text>)"
                                R"(<text x="16" y="47" {}>{}</text>)"
                                "\n",
                                markup_escaped(shorten(chart.title, 84)), kMuted,
                                markup_escaped(roofs_line(chart)));
  svg += legend_svg(picture.legend) + picture.plot + muted_line(bottom + 60, picture.note);
  for (std::size_t i = 0; i < listed; ++i, y += kListRow) {
    svg += list_row(chart, i, y, picture.drawn[i]);
  }
  for (const std::string& line : closing) {
    svg += muted_line(y, line);
    y += kListRow;
  }
  return {.width = kWidth, .height = height, .body = std::move(svg)};
}

std::string run_style(std::string_view color, std::size_t run) {
  switch (run % 4) {
    case 0:
      return fmt::format(R"(fill="{}" fill-opacity="0.65" stroke="white" stroke-width="0.7")",
                         color);
    case 1:  // see-through: the same kernel of another run often lies below
      return fmt::format(R"(fill="none" pointer-events="all" stroke="{}" stroke-width="1.8")",
                         color);
    case 2:
      return fmt::format(R"(fill="{}" fill-opacity="0.8" stroke="#1c1e21" stroke-width="1.4")",
                         color);
    default:
      return fmt::format(R"(fill="{}" fill-opacity="0.2" stroke="#1c1e21" stroke-width="1.4")",
                         color);
  }
}

MarkerSizes::MarkerSizes(const Chart& chart) {
  for (const Point& point : chart.points) {
    largest_share_ = std::max(largest_share_, point.time_fraction);
  }
}

double MarkerSizes::of(const Point& point) const {
  return 6 + 26 * std::sqrt(std::max(0.0, point.time_fraction) / largest_share_);
}

std::string hover_text(const Chart& chart, const Point& point, std::string_view level) {
  const std::string_view bound = at_least(point.record.flops_complete);
  std::string text = fmt::format("{}\n{}: {:.1f} % of the time", point.record.name, level,
                                 point.time_fraction * 100);
  if (chart.phases.size() > 1) text += " of " + point.phase;
  if (point.rate) {
    text += fmt::format(", {}{:.4g} {}", bound, chart_gflops(chart, *point.rate), rate_unit(chart));
  }
  if (point.fraction_of_roof) {
    text += fmt::format(", {}{:.1f} % of roof", bound, *point.fraction_of_roof * 100);
  }
  if (!point.above_roof.empty()) text += ": " + point.above_roof;
  return text;
}

std::string above_roof_svg(double x, double y, double size) {
  return fmt::format(R"(<circle cx="{:.1f}" cy="{:.1f}" r="{:.1f}" fill="none" stroke="#1c1e21" )"
                     R"(stroke-width="1.2" stroke-dasharray="2 2" pointer-events="none"/>)"
                     "\n",
                     x, y, size / 2 + 4);
}

std::vector<LegendEntry> above_roof_legend(const Chart& chart) {
  std::vector<LegendEntry> legend;
  for (std::string& note : above_roof_notes(chart)) {
    legend.push_back({.icon = above_roof_svg(0, 0, 3), .text = std::move(note)});
  }
  return legend;
}

std::string lower_bound_svg(double x, double y, double size, Direction towards) {
  constexpr double kLength = 9, kHead = 4;
  const double length = std::hypot(towards.dx, towards.dy);
  const double ux = towards.dx / length, uy = towards.dy / length;
  const double x1 = x + ux * size / 2, y1 = y + uy * size / 2;
  const double x2 = x1 + ux * kLength, y2 = y1 + uy * kLength;
  // The head: back along the shaft and to each side.
  return fmt::format(
      R"(<path d="M{:.1f} {:.1f}L{:.1f} {:.1f}M{:.1f} {:.1f}L{:.1f} {:.1f}L{:.1f} {:.1f}" )"
      R"(fill="none" stroke="#1c1e21" stroke-width="1.2"/>)"
      "\n",
      x1, y1, x2, y2, x2 - kHead * (ux + uy), y2 - kHead * (uy - ux), x2, y2,
      x2 - kHead * (ux - uy), y2 - kHead * (uy + ux));
}

bool NumberPlacer::is_free(const Box& box) const {
  const double left = std::min(frame_.x.from, frame_.x.to),
               right = std::max(frame_.x.from, frame_.x.to);
  const double top = std::min(frame_.y.from, frame_.y.to),
               bottom = std::max(frame_.y.from, frame_.y.to);
  if (box.x1 < left || box.x2 > right || box.y1 < top || box.y2 > bottom) return false;
  return std::none_of(taken_.begin(), taken_.end(), [&](const Box& other) {
    return box.x1 < other.x2 && other.x1 < box.x2 && box.y1 < other.y2 && other.y1 < box.y2;
  });
}

void NumberPlacer::avoid(double x, double y, double size) {
  const double half = 0.35 * size;  // the square inside a circle
  taken_.push_back({.x1 = x - half, .y1 = y - half, .x2 = x + half, .y2 = y + half});
}

void NumberPlacer::add(double x, double y, double size, std::size_t number) {
  pending_.push_back({.x = x, .y = y, .size = size, .number = number});
}

std::string NumberPlacer::svg() {
  std::string svg;
  for (const Pending& one : pending_) svg += place(one);
  pending_.clear();
  return svg;
}

std::string NumberPlacer::place(const Pending& one) {
  const auto& [x, y, size, number] = one;
  constexpr double kDigit = 8, kHeight = 11, kGap = 5;
  const double width = kDigit * (number > 9 ? 2 : 1), r = size / 2 + 2;
  const std::array<std::array<double, 2>, 6> places{{{x + r, y - kHeight / 2},
                                                     {x - r - width, y - kHeight / 2},
                                                     {x - width / 2, y - r - kHeight},
                                                     {x - width / 2, y + r},
                                                     {x + r, y - r - kHeight},
                                                     {x - r - width, y - r - kHeight}}};
  const auto box_at = [&](const std::array<double, 2>& at) {
    return Box{.x1 = at[0], .y1 = at[1], .x2 = at[0] + width, .y2 = at[1] + kHeight};
  };
  Box box = box_at(places[0]);
  for (const auto& at : places) {
    if (!is_free(box_at(at))) continue;
    box = box_at(at);
    break;
  }
  // Two numbers side by side must not read as one.
  taken_.push_back({.x1 = box.x1 - kGap, .y1 = box.y1, .x2 = box.x2 + kGap, .y2 = box.y2});
  return fmt::format(R"(<text x="{:.1f}" y="{:.1f}" font-weight="bold" stroke="white" )"
                     R"(stroke-width="3" paint-order="stroke">{}</text>)"
                     "\n",
                     box.x1, box.y2 - 1, number);
}

}  // namespace rooftile::report
