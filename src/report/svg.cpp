// SPDX-License-Identifier: Apache-2.0
#include "report/svg.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>

#include "core/text.h"
#include "core/units.h"
#include "core/utf8.h"

namespace rooftile::report {

namespace {

struct Pixels {
  double x1 = 0, y1 = 0, x2 = 0, y2 = 0;
};

/// Liang and Barsky: the part of the line inside the frame.
std::optional<Pixels> clipped(const PlotFrame& frame, const Pixels& line) {
  const double left = std::min(frame.x.from, frame.x.to),
               right = std::max(frame.x.from, frame.x.to);
  const double top = std::min(frame.y.from, frame.y.to),
               bottom = std::max(frame.y.from, frame.y.to);
  const double dx = line.x2 - line.x1, dy = line.y2 - line.y1;
  double begin = 0, end = 1;
  const std::array<std::array<double, 2>, 4> sides{
      {{-dx, line.x1 - left}, {dx, right - line.x1}, {-dy, line.y1 - top}, {dy, bottom - line.y1}}};
  for (const auto& [slope, room] : sides) {
    if (slope == 0) {
      if (room < 0) return std::nullopt;
    } else if (slope < 0) {
      begin = std::max(begin, room / slope);
    } else {
      end = std::min(end, room / slope);
    }
  }
  if (begin > end) return std::nullopt;
  return Pixels{line.x1 + begin * dx, line.y1 + begin * dy, line.x1 + end * dx, line.y1 + end * dy};
}

std::string tick(bool vertical, double at, const PlotFrame& frame, const std::string& label) {
  if (vertical) {
    return fmt::format(
        R"(<line x1="{0:.1f}" x2="{0:.1f}" y1="{1:.1f}" y2="{2:.1f}" stroke="#e2e4e8"/>)"
        R"(<text x="{0:.1f}" y="{3:.1f}" text-anchor="middle" fill="#555b63">{4}</text>)"
        "\n",
        at, frame.y.from, frame.y.to, frame.y.from + 17, label);
  }
  return fmt::format(
      R"(<line x1="{1:.1f}" x2="{2:.1f}" y1="{0:.1f}" y2="{0:.1f}" stroke="#e2e4e8"/>)"
      R"(<text x="{3:.1f}" y="{4:.1f}" text-anchor="end" fill="#555b63">{5}</text>)"
      "\n",
      at, frame.x.from, frame.x.to, frame.x.from - 7, at + 4, label);
}

/// Powers of ten; in a short range also their double and fivefold.
std::string decimal_ticks(const PlotFrame& frame, bool vertical) {
  const LogAxis& axis = vertical ? frame.x : frame.y;
  const int first = static_cast<int>(std::floor(std::log10(axis.low)));
  const int last = static_cast<int>(std::ceil(std::log10(axis.high)));
  const int step = std::max(1, (last - first + 11) / 12);  // at most a dozen labels
  const bool fine = axis.high / axis.low < 400.0;
  std::string svg;
  for (int i = first; i <= last; i += step) {
    for (const double factor : {1.0, 2.0, 5.0}) {
      const double value = factor * std::pow(10.0, i);
      if ((factor > 1.0 && !fine) || value < axis.low || value > axis.high) continue;
      svg += tick(vertical, axis.place(value), frame, decade_text(value));
    }
  }
  return svg;
}

/// Powers of four with KiB, MiB, GiB.
std::string binary_ticks(const PlotFrame& frame) {
  const int first = static_cast<int>(std::ceil(std::log2(frame.x.low) / 2 - 1e-9));
  const int last = static_cast<int>(std::floor(std::log2(frame.x.high) / 2 + 1e-9));
  std::string svg;
  for (int i = first; i <= last; ++i) {
    const double value = std::pow(4.0, i);
    svg += tick(true, frame.x.place(value), frame, binary_size_text(value));
  }
  return svg;
}

/// Attribute selectors instead of classes: the light colours stay the only ones in the elements.
std::string dark_style() {
  struct Pair {
    std::string_view light, dark;
  };
  constexpr std::array<Pair, 18> kColors{{{"white", "#17191c"},
                                          {"#1c1e21", "#e8eaed"},
                                          {"#3b4046", "#c3c8ce"},
                                          {"#555b63", "#a2a9b1"},
                                          {"#555555", "#a2a9b1"},
                                          {"#8b9199", "#5d636b"},
                                          {"#e2e4e8", "#343a41"},
                                          {"#dddddd", "#343a41"},
                                          {"#56b4e9", "#9bd7ff"},
                                          {"#0072b2", "#3d9be9"},
                                          {"#d55e00", "#ff8a3d"},
                                          {"#009e73", "#2fc79a"},
                                          {"#cc79a7", "#eba6cd"},
                                          {"#b8860b", "#e6c14d"},
                                          {"#b8a000", "#e6c14d"},
                                          {"#6f6f6f", "#a2a9b1"},
                                          {"#999999", "#b5bbc2"},
                                          {"#000000", "#e8eaed"}}};
  std::string rules = "text{fill:#e8eaed}";
  for (const Pair& pair : kColors) {
    rules += fmt::format(R"([fill="{0}"]{{fill:{1}}}[stroke="{0}"]{{stroke:{1}}})", pair.light,
                         pair.dark);
  }
  return "<style>@media screen and (prefers-color-scheme:dark){" + rules + "}</style>\n";
}

}  // namespace

std::string markup_escaped(std::string_view text) {
  std::string line(text);
  for (char& c : line) {
    if (c == '\n' || c == '\t') c = ' ';
  }
  std::string out;
  for (const char c : visible(line)) {
    switch (c) {
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '"': out += "&quot;"; break;
      default: out += c;
    }
  }
  return out;
}

double LogAxis::place(double value) const {
  return from + (to - from) * std::log(value / low) / std::log(high / low);
}

double LogAxis::value(double pixel) const {
  return low * std::pow(high / low, (pixel - from) / (to - from));
}

void LogRange::include(double value) {
  if (!(value > 0.0) || !std::isfinite(value)) return;
  low_ = std::min(low_, value);
  high_ = std::max(high_, value);
}

LogAxis LogRange::axis(double from, double to) const {
  if (empty()) return {.low = 1, .high = 100, .from = from, .to = to};
  double low = std::log10(low_) - 0.2, high = std::log10(high_) + 0.2;
  const double missing = std::max(0.0, 2.0 - (high - low)) / 2;
  return {.low = std::pow(10.0, low - missing),
          .high = std::pow(10.0, high + missing),
          .from = from,
          .to = to};
}

std::string frame_svg(const PlotFrame& frame) {
  std::string svg = (frame.binary_x ? binary_ticks(frame) : decimal_ticks(frame, true)) +
                    decimal_ticks(frame, false);
  const double left = frame.x.from, right = frame.x.to, bottom = frame.y.from, top = frame.y.to;
  svg += fmt::format(
      R"(<rect x="{:.1f}" y="{:.1f}" width="{:.1f}" height="{:.1f}" fill="none" stroke="#8b9199"/>)"
      R"(<text x="{:.1f}" y="{:.1f}" text-anchor="middle" font-size="13">{}</text>)"
      R"svg(<text transform="translate({:.1f} {:.1f}) rotate(-90)" text-anchor="middle" )svg"
      R"(font-size="13">{}</text>)"
      "\n",
      left, top, right - left, bottom - top, (left + right) / 2, bottom + 38,
      markup_escaped(frame.x_title), left - 62, (top + bottom) / 2, markup_escaped(frame.y_title));
  return svg;
}

std::string segment_svg(const PlotFrame& frame, const Segment& segment, std::string_view style,
                        std::string_view label) {
  const auto line = clipped(frame, {frame.x.place(segment.x1), frame.y.place(segment.y1),
                                    frame.x.place(segment.x2), frame.y.place(segment.y2)});
  if (!line) return "";
  std::string svg = fmt::format(R"(<line x1="{:.1f}" y1="{:.1f}" x2="{:.1f}" y2="{:.1f}" {}/>)",
                                line->x1, line->y1, line->x2, line->y2, style);
  if (label.empty()) return svg + "\n";
  const double dx = line->x2 - line->x1, dy = line->y2 - line->y1;
  const double length = std::hypot(dx, dy);
  const std::string text = markup_escaped(label);
  if (dy == 0) {  // a flat roof has its name at the right end
    svg += fmt::format(R"(<text x="{:.1f}" y="{:.1f}" text-anchor="end" {}>{}</text>)",
                       line->x2 - 6 - segment.label_shift, line->y2 - 5,
                       R"(stroke="white" stroke-width="3" paint-order="stroke")", text);
  } else if (length > 7.0 * static_cast<double>(label.size())) {
    svg += fmt::format(
        R"svg(<text transform="translate({:.1f} {:.1f}) rotate({:.1f})" {}>{}</text>)svg",
        line->x1 + 10 * dx / length + 5 * dy / length,
        line->y1 + 10 * dy / length - 5 * dx / length, std::atan2(dy, dx) * 57.29577951308232,
        R"(stroke="white" stroke-width="3" paint-order="stroke")", text);
  }
  return svg + "\n";
}

std::vector<double> label_shifts(const LogAxis& axis, const std::vector<FlatLabel>& labels) {
  constexpr double kLine = 14, kCharacter = 7;  // of 12 pixel text
  std::vector<std::size_t> order(labels.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return labels[a].value > labels[b].value; });
  std::vector<double> shifts(labels.size(), 0.0);
  for (std::size_t i = 1; i < order.size(); ++i) {
    const std::size_t above = order[i - 1], one = order[i];
    if (std::abs(axis.place(labels[one].value) - axis.place(labels[above].value)) < kLine) {
      shifts[one] =
          shifts[above] + kCharacter * static_cast<double>(labels[above].text.size()) + kLine;
    }
  }
  return shifts;
}

std::string marker_svg(const Marker& marker) {
  const double r = marker.size / 2;
  const std::string title =
      marker.title.empty() ? std::string() : "<title>" + markup_escaped(marker.title) + "</title>";
  switch (marker.mark) {
    case Mark::Circle:
      return fmt::format(R"(<circle cx="{:.1f}" cy="{:.1f}" r="{:.1f}" {}>{}</circle>)"
                         "\n",
                         marker.x, marker.y, r, marker.style, title);
    case Mark::Triangle:
      return fmt::format(R"(<path d="M{:.1f} {:.1f}l{:.1f} {:.1f}h{:.1f}z" {}>{}</path>)"
                         "\n",
                         marker.x, marker.y - r, r, 2 * r, -2 * r, marker.style, title);
    case Mark::Diamond:
      return fmt::format(
          R"(<path d="M{:.1f} {:.1f}l{:.1f} {:.1f}l{:.1f} {:.1f}l{:.1f} {:.1f}z" {}>{}</path>)"
          "\n",
          marker.x, marker.y - r, r, r, -r, r, -r, -r, marker.style, title);
    case Mark::Cross:
      return fmt::format(R"(<path d="M{:.1f} {:.1f}h{:.1f}M{:.1f} {:.1f}v{:.1f}" {}>{}</path>)"
                         "\n",
                         marker.x - r, marker.y, 2 * r, marker.x, marker.y - r, 2 * r, marker.style,
                         title);
  }
  return "";
}

std::string open_svg(double width, double height, std::string_view title) {
  return fmt::format(
      R"(<svg xmlns="http://www.w3.org/2000/svg" width="{0:.0f}" height="{1:.0f}" )"
      R"(viewBox="0 0 {0:.0f} {1:.0f}" font-family="sans-serif" font-size="12" role="img">)"
      "\n<title>{2}</title>\n{3}"
      R"(<rect width="100%" height="100%" fill="white"/>)"
      "\n",
      width, height, markup_escaped(title), dark_style());
}

std::string stacked_svg(std::string_view title, const std::vector<Drawing>& drawings) {
  double width = 0, height = 0;
  for (const Drawing& drawing : drawings) {
    width = std::max(width, drawing.width);
    height += drawing.height;
  }
  std::string svg = open_svg(width, height, title);
  double top = 0;
  for (const Drawing& drawing : drawings) {
    svg += top > 0 ? fmt::format(R"svg(<g transform="translate(0 {:.0f})">)svg"
                                 "\n{}</g>\n",
                                 top, drawing.body)
                   : drawing.body;
    top += drawing.height;
  }
  return svg + "</svg>\n";
}

std::string binary_size_text(double bytes) {
  constexpr std::array<std::string_view, 5> kUnits{"B", "KiB", "MiB", "GiB", "TiB"};
  std::size_t unit = 0;
  while (bytes >= 1024.0 && unit + 1 < kUnits.size()) {
    bytes /= 1024.0;
    ++unit;
  }
  return fmt::format("{:.4g} {}", bytes, kUnits[unit]);
}

std::string decade_text(double value) {
  if (value >= 0.99e7 || value < 0.99e-4) {
    return fmt::format("1e{}", std::lround(std::log10(value)));
  }
  if (value < 1000) return fmt::format("{:g}", value);
  std::string digits = fmt::format("{:.0f}", value);
  for (auto i = static_cast<std::ptrdiff_t>(digits.size()) - 3; i > 0; i -= 3) {
    digits.insert(static_cast<std::size_t>(i), ",");
  }
  return digits;
}

}  // namespace rooftile::report
