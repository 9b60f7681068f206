// SPDX-License-Identifier: Apache-2.0
//
// What the two pictures of a chart share: heading, where the roofs are from, legend, list of the
// longest kernels, and how markers look. Levels differ in shape and hue, runs in fill, so that both
// are told apart by colour-blind readers and on paper; an arrow stands for a lower bound.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "report/svg.h"
#include "roofline/chart.h"

namespace rooftile::report {

inline constexpr std::array<Mark, 3> kLevelMarks{Mark::Triangle, Mark::Diamond, Mark::Circle};
inline constexpr std::string_view kRoofStyle = R"(stroke="#3b4046" stroke-width="1.6")";
inline constexpr std::size_t kListedKernels = 10;

/// What a sign in the plot means; `icon` is drawn around the origin.
struct LegendEntry {
  std::string icon, text;
};

/// Levels from `first_level` on, the runs where there are several, lower bounds where there are
/// some.
std::vector<LegendEntry> legend_of(const roofline::Chart& chart, std::size_t first_level);

/// Pixels: the legend takes the rows that it needs, the plot and the list follow.
struct PictureLayout {
  double left = 0, right = 0, top = 0, bottom = 0;
};
PictureLayout layout_of(const std::vector<LegendEntry>& legend);

struct Picture {
  std::vector<LegendEntry> legend;
  std::string plot, note;
  std::vector<bool> drawn;  ///< per point of the chart: has a place in the plot
};
Drawing draw_picture(const roofline::Chart& chart, const Picture& picture);

/// Attributes of the marker of a run: solid, hollow, solid with a dark rim, tinted with a dark rim.
std::string run_style(std::string_view color, std::size_t run);

/// Pixels across a marker: its area follows the share of the time.
class MarkerSizes {
 public:
  explicit MarkerSizes(const roofline::Chart& chart);
  [[nodiscard]] double of(const roofline::Point& point) const;

 private:
  double largest_share_ = 1e-12;
};

/// A ring around the marker of a kernel above its roof, and what the ring means: one entry per
/// reason, none where no kernel is above its roof.
std::string above_roof_svg(double x, double y, double size);
std::vector<LegendEntry> above_roof_legend(const roofline::Chart& chart);

/// What hovering over a marker shows.
std::string hover_text(const roofline::Chart& chart, const roofline::Point& point,
                       std::string_view level);

/// A direction in pixels, y downwards.
struct Direction {
  double dx = 0, dy = 0;
};
/// A short arrow that leaves a marker of `size` around a pixel: the true place is further there.
std::string lower_bound_svg(double x, double y, double size, Direction towards);

/// Numbers next to their markers: to the right where there is room, else left, above or below. They
/// keep clear of each other and of the markers of numbered kernels.
class NumberPlacer {
 public:
  explicit NumberPlacer(const PlotFrame& frame) : frame_(frame) {}
  /// A marker of `size` around a pixel that no number may cover.
  void avoid(double x, double y, double size);
  /// The number of the marker around a pixel.
  void add(double x, double y, double size, std::size_t number);
  [[nodiscard]] std::string svg();

 private:
  struct Pending {
    double x = 0, y = 0, size = 0;
    std::size_t number = 0;
  };
  struct Box {
    double x1 = 0, y1 = 0, x2 = 0, y2 = 0;
  };
  [[nodiscard]] bool is_free(const Box& box) const;

  std::string place(const Pending& one);

  const PlotFrame& frame_;
  std::vector<Pending> pending_;
  std::vector<Box> taken_;
};

}  // namespace rooftile::report
