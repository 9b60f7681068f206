// SPDX-License-Identifier: Apache-2.0
//
// What the static pictures share: escaped text, logarithmic axes with their grid, markers, colours.
// The pictures are for papers: white ground, sans-serif text that stays text, no script. Colours
// are attributes, which every viewer and converter follows; a style sheet replaces them on screens
// that ask for dark colours, and nothing is lost where it is ignored.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace rooftile::report {

/// Text inside XML or HTML, on one line: markup escaped; controls (which XML forbids) and bytes
/// that are not UTF-8 made visible().
std::string markup_escaped(std::string_view text);

struct Color {
  std::string_view name, value;
};

/// L1, L2, DRAM. Colours that stay apart for colour-blind readers (Okabe and Ito).
inline constexpr std::array<Color, 3> kLevelColors{
    {{"L1", "#56b4e9"}, {"L2", "#0072b2"}, {"DRAM", "#d55e00"}}};
/// For curves, in the order they are used.
inline constexpr std::array<std::string_view, 7> kCurveColors{
    "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#b8860b", "#6f6f6f"};

/// A logarithmic axis from value `low` to `high` on pixels `from` to `to`.
struct LogAxis {
  double low = 1, high = 10, from = 0, to = 1;
  [[nodiscard]] double place(double value) const;
  [[nodiscard]] double value(double pixel) const;
};

/// Collects values and gives the axis that holds them, with a little room and at least two decades.
class LogRange {
 public:
  void include(double value);
  [[nodiscard]] bool empty() const { return !(low_ <= high_); }
  [[nodiscard]] LogAxis axis(double from, double to) const;

 private:
  double low_ = 1e300, high_ = 0;
};

struct PlotFrame {
  LogAxis x, y;
  std::string x_title, y_title;
  bool binary_x = false;  ///< ticks at powers of four with KiB, MiB; else at powers of ten
};

/// Grid lines, tick labels, border and titles.
std::string frame_svg(const PlotFrame& frame);

/// A line between two values, cut at the edges of the frame; nothing when it lies outside.
struct Segment {
  double x1 = 0, y1 = 0, x2 = 0, y2 = 0;  ///< values
  double label_shift = 0;                 ///< pixels to the left; flat lines only
};
std::string segment_svg(const PlotFrame& frame, const Segment& segment, std::string_view style,
                        std::string_view label);

/// A flat line with a name at its right end.
struct FlatLabel {
  double value = 0;
  std::string text;
};
/// How far to move the labels to the left so that those of close lines do not cover each other.
std::vector<double> label_shifts(const LogAxis& axis, const std::vector<FlatLabel>& labels);

enum class Mark : std::uint8_t { Triangle, Diamond, Circle, Cross };

/// A marker `size` pixels across around a pixel; `title` is what hovering shows.
struct Marker {
  Mark mark = Mark::Circle;
  double x = 0, y = 0, size = 6;
  std::string style;  ///< attributes, e.g. `fill="#d55e00"`
  std::string title;  ///< not yet escaped
};
std::string marker_svg(const Marker& marker);

/// A finished picture without its frame.
struct Drawing {
  double width = 0, height = 0;
  std::string body;
};
/// One file: the drawings one below the other.
std::string stacked_svg(std::string_view title, const std::vector<Drawing>& drawings);

/// `<svg ...>` with title, the colours of dark screens and the ground.
std::string open_svg(double width, double height, std::string_view title);

/// 32768 -> "32 KiB".
std::string binary_size_text(double bytes);

/// 0.01, 1, 1,000, 1e7: labels of decades.
std::string decade_text(double value);

}  // namespace rooftile::report
