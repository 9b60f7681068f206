// SPDX-License-Identifier: Apache-2.0
#include "report/bar_svg.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>

#include "core/utf8.h"
#include "report/lines.h"

namespace rooftile::report {

namespace {

using nlohmann::ordered_json;

constexpr double kBarWidth = 900, kUsualLabels = 300, kBarTop = 70, kBarBottom = 62;
constexpr double kBarThick = 11, kBarSpace = 9;  ///< of a bar, and between rows
constexpr double kBarCharacter = 6.6;            ///< mean width in 12 pixel text

// Colours that stay apart for colour-blind readers (Okabe and Ito).
constexpr std::array<Color, 10> kTones{{{"compute", "#009e73"},
                                        {"shared", "#999999"},
                                        {"l1", "#56b4e9"},
                                        {"l2", "#0072b2"},
                                        {"dram", "#d55e00"},
                                        {"latency", "#cc79a7"},
                                        {"launch", "#b8a000"},
                                        {"host", "#6b4c9a"},
                                        {"good", "#0072b2"},
                                        {"bad", "#d55e00"}}};

std::optional<double> bar_number(const ordered_json& row, const std::string& at) {
  if (at.empty()) return std::nullopt;
  const ordered_json& value = value_at(row, at);
  if (!value.is_number() || !std::isfinite(value.get<double>())) return std::nullopt;
  return value.get<double>();
}

std::string bar_word(const ordered_json& row, const std::string& at) {
  if (at.empty()) return {};
  const ordered_json& value = value_at(row, at);
  return value.is_string() ? value.get<std::string>() : std::string();
}

/// A linear axis from 0 with round ticks.
struct LinearAxis {
  double high = 1, step = 0.2, left = 0, right = 1;
  [[nodiscard]] double place(double value) const {
    return left + (right - left) * std::clamp(value / high, 0.0, 1.0);
  }
};

LinearAxis axis_for(double most, double left, double right) {
  const double rough = std::max(most, 1e-12) / 5;
  const double decade = std::pow(10.0, std::floor(std::log10(rough)));
  double step = 10 * decade;
  for (const double factor : {1.0, 2.0, 2.5, 5.0}) {
    if (factor * decade >= rough) {
      step = factor * decade;
      break;
    }
  }
  return {.high = step * std::ceil(most / step - 1e-9), .step = step, .left = left, .right = right};
}

struct BarLayout {
  std::vector<const ordered_json*> rows;
  LinearAxis axis;
  double width = 0, row_height = 0, bottom = 0;
};

BarLayout layout_of(const Document& document, const BarChart& chart) {
  BarLayout layout{.rows = rows_of(document, chart.rows), .axis = {}};
  double most = 0, labels = 0, remarks = 0;
  for (const ordered_json* row : layout.rows) {
    for (const BarSeries& series : chart.series) {
      for (const std::string& at : {series.at, series.high})
        most = std::max(most, bar_number(*row, at).value_or(0));
    }
    most = std::max(most, bar_number(*row, chart.mark).value_or(0));
    labels = std::max(labels, static_cast<double>(utf8_count(bar_word(*row, chart.label))));
    remarks = std::max(remarks, static_cast<double>(utf8_count(bar_word(*row, chart.remark))));
  }
  for (const BarChart::Line& line : chart.lines) most = std::max(most, line.value);
  // Long names make the picture wider, not the bars shorter.
  const double left = std::clamp(kBarCharacter * labels + 24, 90.0, kUsualLabels + 300);
  layout.width = kBarWidth + std::max(0.0, left - kUsualLabels);
  const double right = layout.width - std::clamp(kBarCharacter * remarks + 24, 30.0, 260.0);
  layout.axis = axis_for(most, left, right);
  layout.row_height =
      kBarThick * static_cast<double>(std::max<std::size_t>(chart.series.size(), 1)) + kBarSpace;
  layout.bottom = kBarTop + layout.row_height * static_cast<double>(layout.rows.size());
  return layout;
}

/// "20 ms" and not "20.00 ms".
std::string tick_text(double value, Unit unit) {
  if (value == 0) return "0";
  std::string text = shown(ordered_json(value), unit);
  const std::size_t digits = std::min(text.find_first_not_of("0123456789."), text.size());
  const std::size_t point = std::min(text.find('.'), digits);
  if (point == digits) return text;
  const std::size_t last = text.find_last_not_of('0', digits - 1);
  const std::size_t kept = last == point ? point : last + 1;
  return text.erase(kept, digits - kept);
}

std::string axis_svg(const BarChart& chart, const BarLayout& layout) {
  std::string svg;
  const LinearAxis& axis = layout.axis;
  for (double value = 0; value <= axis.high * (1 + 1e-9); value += axis.step) {
    svg += fmt::format(
        R"(<line x1="{0:.1f}" x2="{0:.1f}" y1="{1:.1f}" y2="{2:.1f}" stroke="#e2e4e8"/>)"
        R"(<text x="{0:.1f}" y="{3:.1f}" text-anchor="middle" fill="#555b63">{4}</text>)"
        "\n",
        axis.place(value), kBarTop - 4, layout.bottom, layout.bottom + 16,
        tick_text(value, chart.unit));
  }
  return svg + fmt::format(R"(<text x="{:.1f}" y="{:.1f}" text-anchor="middle">{}</text>)"
                           "\n",
                           (axis.left + axis.right) / 2, layout.bottom + 34,
                           markup_escaped(chart.axis));
}

std::string lines_svg(const BarChart& chart, const BarLayout& layout) {
  std::string svg;
  for (const BarChart::Line& line : chart.lines) {
    const double x = layout.axis.place(line.value);
    const double half = kBarCharacter * static_cast<double>(utf8_count(line.text)) / 2;
    svg += fmt::format(
        R"(<line x1="{0:.1f}" x2="{0:.1f}" y1="{1:.1f}" y2="{2:.1f}" stroke="#3b4046" )"
        R"(stroke-width="1.6"/><text x="{0:.1f}" y="{3:.1f}" text-anchor="{4}">{5}</text>)"
        "\n",
        x, kBarTop - 4, layout.bottom, kBarTop - 8, x + half > layout.width ? "end" : "middle",
        markup_escaped(line.text));
  }
  return svg;
}

/// What the whiskers, lines and remarks are.
std::string note_of(const BarChart& chart) {
  if (chart.remark_name.empty()) return chart.note;
  return fmt::format("{}{}on the right: {}", chart.note, chart.note.empty() ? "" : "; ",
                     chart.remark_name);
}

std::string legend_svg(const BarChart& chart, double left) {
  std::string svg;
  double x = left;
  for (const BarSeries& series : chart.series) {
    if (chart.series.size() < 2) break;
    svg += fmt::format(R"(<rect x="{:.0f}" y="38" width="12" height="12" fill="{}"/>)"
                       R"(<text x="{:.0f}" y="48">{}</text>)",
                       x, series.color, x + 17, markup_escaped(series.name));
    x += 40 + kBarCharacter * static_cast<double>(series.name.size());
  }
  if (!chart.mark.empty())
    svg += fmt::format(R"(<path d="M{:.0f} 38v12" stroke="#1c1e21" stroke-width="2"/>)"
                       R"(<text x="{:.0f}" y="48">{}</text>)",
                       x + 4, x + 12, markup_escaped(chart.mark_name));
  return svg + "\n";
}

std::string whisker_svg(const LinearAxis& axis, double low, double high, double y) {
  return fmt::format(R"(<path d="M{0:.1f} {2:.1f}H{1:.1f}M{0:.1f} {3:.1f}v6M{1:.1f} {3:.1f}v6" )"
                     R"(fill="none" stroke="#1c1e21" stroke-width="1.2"/>)",
                     axis.place(low), axis.place(high), y, y - 3);
}

std::string bar_row_svg(const BarChart& chart, const BarLayout& layout, const ordered_json& row,
                        double y) {
  const LinearAxis& axis = layout.axis;
  const std::string label = bar_word(row, chart.label), tone = bar_word(row, chart.tone);
  const double middle = y + (layout.row_height - kBarSpace) / 2;
  std::string svg = fmt::format(
      R"(<text x="{:.0f}" y="{:.1f}" text-anchor="end">{}<title>{}</title></text>)", axis.left - 8,
      middle + 4, markup_escaped(shorten(label, 86)), markup_escaped(label));
  double top = y;
  for (const BarSeries& series : chart.series) {
    const auto value = bar_number(row, series.at);
    if (value) {
      const std::string_view color =
          series.color.empty() ? tone_color(tone) : std::string_view(series.color);
      svg += fmt::format(R"(<rect x="{:.1f}" y="{:.1f}" width="{:.1f}" height="{:.1f}" fill="{}">)"
                         R"(<title>{}</title></rect>)",
                         axis.left, top, axis.place(*value) - axis.left, kBarThick - 1.5, color,
                         markup_escaped(fmt::format("{}, {}: {}", label, series.name,
                                                    shown(ordered_json(*value), chart.unit))));
      const auto low = bar_number(row, series.low), high = bar_number(row, series.high);
      if (low && high) svg += whisker_svg(axis, *low, *high, top + kBarThick / 2 - 0.75);
    }
    top += kBarThick;
  }
  if (const auto mark = bar_number(row, chart.mark))
    svg += fmt::format(R"(<path d="M{:.1f} {:.1f}V{:.1f}" stroke="#1c1e21" stroke-width="2"/>)",
                       axis.place(*mark), y - 2, top + 1);
  if (const std::string remark = bar_word(row, chart.remark); !remark.empty())
    svg += fmt::format(R"(<text x="{:.0f}" y="{:.1f}" fill="{}">{}</text>)", axis.right + 14,
                       middle + 4, tone.empty() ? "#555b63" : tone_color(tone),
                       markup_escaped(remark));
  return svg + "\n";
}

}  // namespace

std::string_view tone_color(std::string_view tone) {
  for (const Color& color : kTones) {
    if (color.name == tone) return color.value;
  }
  return "#0072b2";
}

Drawing draw_bars(const Document& document, const BarChart& chart) {
  const BarLayout layout = layout_of(document, chart);
  std::string svg = fmt::format(R"(<text x="16" y="24" font-size="15" font-weight="bold">{}</text>)"
                                "\n",
                                markup_escaped(chart.title));
  svg += legend_svg(chart, layout.axis.left) + axis_svg(chart, layout);
  double y = kBarTop + kBarSpace / 2;
  for (const ordered_json* row : layout.rows) {
    svg += bar_row_svg(chart, layout, *row, y);
    y += layout.row_height;
  }
  svg += lines_svg(chart, layout);
  if (const std::string note = note_of(chart); !note.empty())
    svg += fmt::format(R"(<text x="16" y="{:.0f}" fill="#555b63">{}</text>)"
                       "\n",
                       layout.bottom + 54, markup_escaped(note));
  return {.width = layout.width, .height = layout.bottom + kBarBottom, .body = std::move(svg)};
}

}  // namespace rooftile::report
