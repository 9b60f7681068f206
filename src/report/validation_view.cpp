// SPDX-License-Identifier: Apache-2.0
#include "report/validation_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/text.h"
#include "report/errors_json.h"
#include "report/json_text.h"
#include "report/provenance_view.h"
#include "report/table.h"

namespace rooftile::report {

namespace {

std::string line(const std::vector<std::string>& cells, const std::vector<std::size_t>& width) {
  std::string text = "|";
  for (std::size_t i = 0; i < cells.size(); ++i)
    text += fmt::format(" {:<{}} |", cells[i], width[i]);
  return text + "\n";
}

/// "87 %" -> 87, "0.16 / 0.8" -> [0.16, 0.8], "13.4 % (0.93)" -> [13.4, 0.93]; words stay words.
nlohmann::ordered_json numbers_of(const std::string& cell) {
  constexpr std::string_view kDigits = "0123456789.";
  std::vector<double> values;
  for (std::size_t at = cell.find_first_of(kDigits); at != std::string::npos;) {
    const std::size_t end = std::min(cell.find_first_not_of(kDigits, at), cell.size());
    const auto value = parse_double(std::string_view(cell).substr(at, end - at));
    if (!value) return cell;
    values.push_back(at > 0 && cell[at - 1] == '-' ? -*value : *value);
    at = cell.find_first_of(kDigits, end);
  }
  if (values.empty()) return cell;
  if (values.size() == 1) return values.front();
  return values;
}

}  // namespace

std::string validation_to_text(const calibration::ValidationTable& table) {
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
  return text + "\n" + provenance_to_text(table.provenance, false);
}

std::string validation_to_json(const calibration::ValidationTable& table) {
  using nlohmann::ordered_json;
  ordered_json json{{"schema", 1}, {"title", table.title}, {"rows", ordered_json::array()}};
  for (const auto& row : table.rows) {
    ordered_json object;
    object[table.columns.front()] = row.front();  // the name of the row
    for (std::size_t i = 1; i < row.size(); ++i) object[table.columns[i]] = numbers_of(row[i]);
    json["rows"].push_back(std::move(object));
  }
  json["leave_one_gpu_out"] = table.left_out;
  json["cases"] = ordered_json::array();
  for (const EvaluatedBytes& one : table.bytes) {
    json["cases"].push_back({{"device", one.device},
                             {"case", one.name},
                             {"model", one.model},
                             {"group", one.group},
                             {"level", one.level},
                             {"measured_bytes", one.measured_bytes},
                             {"predicted_bytes", one.predicted_bytes},
                             {"error", one.error}});
  }
  json["summary"] = errors_json(table.summary);
  json["skipped"] = table.skipped;
  json["notes"] = table.notes;
  json["provenance"] = provenance_json(table.provenance);
  return json_text(json);
}

std::string validation_to_csv(const calibration::ValidationTable& table) {
  const auto csv_line = [](const std::vector<std::string>& cells) {
    std::string text;
    for (const std::string& cell : cells) text += (text.empty() ? "" : ",") + csv_field(cell);
    return text + "\n";
  };
  std::string text = csv_line(table.columns);
  for (const auto& row : table.rows) text += csv_line(row);
  return text;
}

}  // namespace rooftile::report
