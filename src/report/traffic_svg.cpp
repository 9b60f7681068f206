// SPDX-License-Identifier: Apache-2.0
//
// The picture of `rooftile traffic`: a row per layer, three bars (bytes at L1, L2, DRAM on a
// logarithmic axis) and the limiter as a coloured label. Rows go down the page, so that names
// are readable and a network of any depth fits.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>
#include <utility>

#include "core/text.h"
#include "report/svg.h"
#include "report/table.h"
#include "report/traffic_view.h"

namespace rooftile::report {

namespace {

constexpr double kBarLeft = 210, kBarPlot = 520, kBarRight = 190, kBarTop = 104, kBarRow = 34,
                 kBarBottom = 46;

struct Style {
  std::string_view name, color;
};
// Colours that stay apart for colour-blind readers (Okabe and Ito).
constexpr std::array<Style, 3> kLevelStyles{
    {{"L1", "#56b4e9"}, {"L2", "#0072b2"}, {"DRAM", "#d55e00"}}};
constexpr std::array<Style, 8> kLimiters{{{"compute", "#009e73"},
                                          {"shared", "#999999"},
                                          {"l1", "#56b4e9"},
                                          {"l2", "#0072b2"},
                                          {"dram", "#d55e00"},
                                          {"latency", "#cc79a7"},
                                          {"launch", "#b8a000"},
                                          {"host", "#6b4c9a"}}};

std::string_view color_of(std::string_view limiter) {
  for (const Style& style : kLimiters) {
    if (style.name == limiter) return style.color;
  }
  return "#000000";
}

/// Decades of bytes that the axis spans.
struct ByteAxis {
  double low = 3, high = 9;  ///< powers of ten
  [[nodiscard]] double x(double bytes) const {
    const double position = (std::log10(std::max(bytes, 1.0)) - low) / (high - low);
    return kBarLeft + kBarPlot * std::clamp(position, 0.0, 1.0);
  }
};

ByteAxis axis_of(const TrafficReport& report) {
  double least = 1e18;
  double most = 1;
  for (const LayerTraffic& layer : report.layers) {
    least = std::min({least, layer.read.l1, layer.read.l2, layer.read.dram});
    most = std::max({most, layer.read.l1, layer.read.l2, layer.read.dram});
  }
  ByteAxis axis{.low = std::floor(std::log10(std::max(1.0, least))),
                .high = std::ceil(std::log10(most))};
  if (axis.low >= std::log10(std::max(1.0, least)) - 0.05) axis.low -= 1;  // no bar of length 0
  axis.high = std::max(axis.high, axis.low + 1);
  return axis;
}

std::string grid(const ByteAxis& axis, double height) {
  std::string svg;
  for (double decade = axis.low; decade <= axis.high; decade += 1) {
    const double x = kBarLeft + kBarPlot * (decade - axis.low) / (axis.high - axis.low);
    svg += fmt::format(
        R"(<line x1="{0:.1f}" x2="{0:.1f}" y1="{1:.1f}" y2="{2:.1f}" stroke="#dddddd"/>)"
        R"(<text x="{0:.1f}" y="{3:.1f}" text-anchor="middle" fill="#555555">{4}</text>)"
        R"(<text x="{0:.1f}" y="{5:.1f}" text-anchor="middle" fill="#555555">{4}</text>)"
        "\n",
        x, kBarTop - 4, height - kBarBottom, height - kBarBottom + 18,
        format_bytes(Bytes::from_base(std::pow(10.0, decade)), 1), kBarTop - 12);
  }
  return svg;
}

std::string legend() {
  std::string svg;
  double x = kBarLeft;
  for (const Style& level : kLevelStyles) {
    svg += fmt::format(R"(<rect x="{:.0f}" y="50" width="12" height="12" fill="{}"/>)"
                       R"(<text x="{:.0f}" y="60">{}</text>)",
                       x, level.color, x + 17, level.name);
    x += 70;
  }
  // Two short texts: the column of times begins where the plot ends.
  svg += fmt::format(R"(<text x="{:.0f}" y="60" fill="#555555">bytes loaded per launch</text>)"
                     R"(<text x="{:.0f}" y="60" fill="#555555">time, limiter</text>)"
                     "\n",
                     x, kBarLeft + kBarPlot + 14);
  return svg;
}

std::string row(const LayerTraffic& layer, const ByteAxis& axis, double y) {
  const std::array<double, 3> bytes{layer.read.l1, layer.read.l2, layer.read.dram};
  std::string svg = fmt::format(R"(<text x="{:.0f}" y="{:.1f}" text-anchor="end">{}</text>)",
                                kBarLeft - 8, y + 15, markup_escaped(shorten(layer.name, 30)));
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    svg += fmt::format(R"(<rect x="{:.1f}" y="{:.1f}" width="{:.1f}" height="8" fill="{}">)"
                       R"(<title>{} {}: {}</title></rect>)",
                       kBarLeft, y + static_cast<double>(i) * 9, axis.x(bytes[i]) - kBarLeft,
                       kLevelStyles[i].color, markup_escaped(layer.name), kLevelStyles[i].name,
                       format_bytes(Bytes::from_base(bytes[i])));
  }
  svg += fmt::format(
      R"(<text x="{:.0f}" y="{:.1f}">{} <tspan fill="{}" font-weight="bold">{}</tspan></text>)"
      "\n",
      kBarLeft + kBarPlot + 14, y + 15, format_ms(layer.latency_ms), color_of(layer.limiter),
      layer.limiter);
  return svg;
}

}  // namespace

std::string traffic_to_svg(const TrafficReport& report) {
  const double width = kBarLeft + kBarPlot + kBarRight;
  const double height = kBarTop + kBarRow * static_cast<double>(report.layers.size()) + kBarBottom;
  const std::string title =
      fmt::format("Traffic of {} on {}",
                  report.model_name.empty() ? "one layer" : report.model_name, report.gpu_name);
  std::string svg = open_svg(width, height, title) +
                    fmt::format(R"(<text x="16" y="28" font-size="17" font-weight="bold">{}</text>)"
                                "\n",
                                markup_escaped(title));
  const ByteAxis axis = axis_of(report);
  svg += legend();
  svg += grid(axis, height);
  double y = kBarTop;
  for (const LayerTraffic& layer : report.layers) {
    svg += row(layer, axis, y);
    y += kBarRow;
  }
  return svg + "</svg>\n";
}

}  // namespace rooftile::report
