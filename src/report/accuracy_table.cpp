// SPDX-License-Identifier: Apache-2.0
#include "report/accuracy_table.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "report/text_table.h"

namespace rooftile::report {

std::string percent(double fraction) {
  return fmt::format("{:.1f}", fraction * 100);
}

std::string percent(std::optional<double> fraction) {
  return fraction ? percent(*fraction) : "-";
}

std::string signed_percent(double fraction) {
  return fmt::format("{:+.1f}", fraction * 100);
}

std::string accuracy_heading(std::string_view predictor, bool left_out) {
  if (left_out) return "Every GPU predicted by weights that have seen nothing measured on it.";
  return fmt::format("Predictor {}; it may have been fitted on these GPUs.", predictor);
}

std::string AccuracyTable::to_text(int width) const {
  std::vector<TextColumn> columns;
  for (const std::string& title : titles) {
    columns.push_back({.title = title,
                       .align = columns.empty() ? Align::Left : Align::Right,
                       .shrink = columns.empty(),
                       .optional = std::count(details.begin(), details.end(), title) > 0});
  }
  TextTable table(std::move(columns));
  for (const std::vector<std::string>& row : rows) table.add(row);
  return table.render(width, 0);
}

std::string AccuracyTable::to_markdown() const {
  std::string text = fmt::format("| {} |\n|---", fmt::join(titles, " | "));
  for (std::size_t i = 1; i < titles.size(); ++i) text += "|---:";
  text += "|\n";
  for (const std::vector<std::string>& row : rows) {
    text += fmt::format("| {} |\n", fmt::join(row, " | "));
  }
  return text;
}

}  // namespace rooftile::report
