// SPDX-License-Identifier: Apache-2.0
//
// The charts of a document as one picture for papers: no script, text stays text.
#include <fmt/format.h>

#include "core/utf8.h"
#include "report/bar_svg.h"
#include "report/curve_svg.h"
#include "report/lines.h"
#include "report/roofline_svg.h"
#include "report/writer.h"

namespace rooftile::report {

namespace {

Drawing draw(const Document& document, const BarChart& chart) {
  return draw_bars(document, chart);
}
Drawing draw(const Document& /*document*/, const CurveChart& chart) {
  return draw_curves(chart);
}
Drawing draw(const Document& /*document*/, const RooflineChart& chart) {
  return chart.view == RooflineView::TimeBased ? draw_time_roofline(*chart.chart)
                                               : draw_roofline(*chart.chart);
}

constexpr double kTitleWidth = 900;  // also of a picture without charts

Drawing draw_title(const Document& document) {
  constexpr std::size_t kTitleLetters = 88, kSubtitleLetters = 130;  // in a line
  std::string svg;
  double y = 8;
  for (const std::string& line : pieces(visible(document.title), kTitleLetters)) {
    y += 20;
    svg += fmt::format(R"(<text x="16" y="{:.0f}" font-size="16" font-weight="bold">{}</text>)"
                       "\n",
                       y, markup_escaped(line));
  }
  if (!document.subtitle.empty()) {
    for (const std::string& line : pieces(visible(document.subtitle), kSubtitleLetters)) {
      y += 19;
      svg += fmt::format(R"(<text x="16" y="{:.0f}" fill="#555b63">{}</text>)"
                         "\n",
                         y, markup_escaped(line));
    }
  }
  return {.width = kTitleWidth, .height = y + 10, .body = std::move(svg)};
}

std::string write_svg(const Document& document, const WriteOptions& /*options*/) {
  std::vector<Drawing> drawings;
  bool titled = false;  // a roofline has its own title
  for (const Section& section : document.sections) {
    const auto* chart = std::get_if<Figure>(&section);
    if (chart == nullptr) continue;
    titled = titled || std::holds_alternative<RooflineChart>(*chart);
    drawings.push_back(std::visit([&](const auto& one) { return draw(document, one); }, *chart));
  }
  if (!titled) drawings.insert(drawings.begin(), draw_title(document));
  return stacked_svg(document.title, drawings);
}

}  // namespace

Writer svg_writer() {
  return {.name = "svg",
          .endings = {".svg"},
          .needs = Needs::Charts,
          .warnings = false,
          .make = write_svg};
}

}  // namespace rooftile::report
