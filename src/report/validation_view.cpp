// SPDX-License-Identifier: Apache-2.0
#include "report/validation_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

namespace rooftile::report {

namespace {

std::string line(const std::vector<std::string>& cells, const std::vector<std::size_t>& width) {
  std::string text = "|";
  for (std::size_t i = 0; i < cells.size(); ++i)
    text += fmt::format(" {:<{}} |", cells[i], width[i]);
  return text + "\n";
}

}  // namespace

std::string validation_to_text(const ValidationTable& table) {
  std::vector<std::size_t> width;
  for (std::size_t i = 0; i < table.columns.size(); ++i) {
    std::size_t most = table.columns[i].size();
    for (const auto& row : table.rows) most = std::max(most, row[i].size());
    width.push_back(most);
  }
  std::vector<std::string> rule;
  for (const std::size_t w : width) rule.emplace_back(w, '-');
  std::string text = table.title + "\n\n" + line(table.columns, width) + line(rule, width);
  for (const auto& row : table.rows) text += line(row, width);
  if (!table.notes.empty()) text += "\n";
  for (const std::string& note : table.notes) text += note + "\n";
  return text;
}

std::string validation_to_json(const ValidationTable& table) {
  using nlohmann::ordered_json;
  ordered_json json{{"schema", 1}, {"title", table.title}, {"rows", ordered_json::array()}};
  for (const auto& row : table.rows) {
    ordered_json object;
    for (std::size_t i = 0; i < row.size(); ++i) object[table.columns[i]] = row[i];
    json["rows"].push_back(std::move(object));
  }
  json["notes"] = table.notes;
  return json.dump(2) + "\n";
}

}  // namespace rooftile::report
