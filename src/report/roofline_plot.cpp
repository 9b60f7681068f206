// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <ranges>

#include "core/text.h"
#include "report/roofline_plot.h"
#include "report/roofline_words.h"

namespace rooftile::report {

namespace {

using roofline::Chart;
using roofline::Point;

constexpr int kRows = 20;
constexpr int kAxis = 8;                    ///< columns left of the plot
constexpr std::string_view kMarks = "12D";  ///< L1, L2, DRAM

/// Whole decades around the data.
struct Range {
  double low = 1e300, high = 0.0;
  void include(double value) {
    if (!(value > 0.0) || !std::isfinite(value)) return;
    low = std::min(low, value);
    high = std::max(high, value);
  }
  void close() {
    if (high <= 0.0) low = high = 1.0;
    low = std::pow(10.0, std::floor(std::log10(low)));
    high = std::pow(10.0, std::ceil(std::log10(high)));
    if (high <= low) high = low * 10.0;
  }
  /// 0 at low, 1 at high.
  [[nodiscard]] double place(double value) const {
    return std::log10(value / low) / std::log10(high / low);
  }
};

class Canvas {
 public:
  Canvas(const Range& x, const Range& y, int columns)
      : x_(x),
        y_(y),
        columns_(columns),
        lines_(kRows, std::string(static_cast<std::size_t>(columns), ' ')) {}

  void set(double x, double y, char mark) {
    const double px = x_.place(x), py = y_.place(y);
    if (!(px >= 0.0 && px <= 1.0 && py >= 0.0 && py <= 1.0)) return;
    const auto column = static_cast<std::size_t>(std::lround(px * (columns_ - 1)));
    const auto row = static_cast<std::size_t>(std::lround((1.0 - py) * (kRows - 1)));
    lines_[row][column] = mark;
  }
  /// Draws y(x) along all columns.
  template <typename F>
  void curve(const F& f, char mark, double from) {
    for (int column = 0; column < columns_; ++column) {
      const double x = x_.low * std::pow(x_.high / x_.low, column / double(columns_ - 1));
      if (x >= from) set(x, f(x), mark);
    }
  }
  [[nodiscard]] const std::string& line(std::size_t row) const { return lines_[row]; }

 private:
  Range x_, y_;
  int columns_;
  std::vector<std::string> lines_;
};

void draw_roofs(const Chart& chart, Canvas& canvas) {
  const auto highest = chart.roofs.highest();
  double widest = 0.0;
  for (const roofline::MemoryRoof& roof : chart.roofs.memory) {
    widest = std::max(widest, roof.bandwidth.base());
  }
  for (const roofline::ComputeRoof& roof : chart.roofs.compute) {
    const double rate = roof.rate.base();
    canvas.curve([&](double) { return rate; }, '-', widest > 0.0 ? rate / widest : 0.0);
  }
  for (const roofline::MemoryRoof& roof : chart.roofs.memory) {
    const double bandwidth = roof.bandwidth.base();
    canvas.curve(
        [&](double x) {
          const double y = bandwidth * x;
          return highest && y > highest->base() ? -1.0 : y;
        },
        '/', 0.0);
  }
}

}  // namespace

std::string roofline_plot(const Chart& chart, int width) {
  Range x, y;
  for (const Point& point : chart.points) {
    if (!point.rate || !(point.rate->base() > 0.0)) continue;
    y.include(point.rate->base());
    for (const auto& intensity : point.intensity) {
      if (intensity) x.include(intensity->base());
    }
  }
  if (y.high <= 0.0) return "";
  for (const roofline::ComputeRoof& roof : chart.roofs.compute) {
    y.include(roof.rate.base());
    for (const roofline::MemoryRoof& memory : chart.roofs.memory) {
      x.include(roof.rate.base() / memory.bandwidth.base());
    }
  }
  x.close();
  y.close();
  const int columns = std::clamp(width - kAxis - 2, 40, 120);
  Canvas canvas(x, y, columns);
  draw_roofs(chart, canvas);
  for (const auto& point : chart.points | std::views::reverse) {
    if (!point.rate) continue;
    for (std::size_t level = 0; level < point.intensity.size(); ++level) {
      if (point.intensity[level]) {
        canvas.set(point.intensity[level]->base(), point.rate->base(), kMarks[level]);
      }
    }
  }
  std::string text = fmt::format("  G{}/s   1 = L1, 2 = L2, D = DRAM; one kernel per height\n",
                                 operations_of(chart));
  const double decades = std::log10(y.high / y.low);
  int labelled = -1;
  for (int row = 0; row < kRows; ++row) {
    const double decade = decades * (1.0 - row / double(kRows - 1));
    const int whole = static_cast<int>(std::lround(decade));
    const bool label = std::abs(decade - whole) < 0.5 * decades / (kRows - 1) && whole != labelled;
    if (label) labelled = whole;
    const double value = y.low * std::pow(10.0, whole) / 1e9;
    std::string line = label ? fmt::format("{:>7.0e} |", value) : fmt::format("{:>7} |", "");
    line += canvas.line(static_cast<std::size_t>(row));
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  text += fmt::format("{:>7} +{}\n", "", std::string(static_cast<std::size_t>(columns), '-'));
  const std::string left = fmt::format("{:g}", x.low),
                    right = fmt::format("{:g} {}/byte", x.high, operations_of(chart));
  text +=
      fmt::format("{:>7}  {}{:>{}}\n", "", left, right, columns - static_cast<int>(left.size()));
  return text;
}

}  // namespace rooftile::report
