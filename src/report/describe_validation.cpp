// SPDX-License-Identifier: Apache-2.0
//
// `rooftile evaluate traffic` and `tiles`, and `fit --inspect`: tables of bytes, of chosen tiles and
// of what is in a data set.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <nlohmann/json.hpp>

#include "calibration/inspect.h"
#include "calibration/tile_report.h"
#include "calibration/validation.h"
#include "core/provenance.h"
#include "report/describe.h"
#include "report/errors.h"

namespace rooftile::report {

namespace {

using nlohmann::ordered_json;

/// A number, the list of those that a cell shows, or its word.
ordered_json cell_json(const calibration::ValidationCell& cell) {
  if (cell.numbers.empty()) return cell.text;
  if (cell.numbers.size() == 1) return cell.numbers.front();
  return cell.numbers;
}

ordered_json validation_json(const calibration::ValidationTable& table) {
  ordered_json json{{"schema", 1}, {"title", table.title}, {"rows", ordered_json::array()}};
  for (const auto& row : table.rows) {
    ordered_json object;
    object[table.columns.front()] = row.front().text;  // the name of the row
    for (std::size_t i = 1; i < row.size(); ++i) object[table.columns[i]] = cell_json(row[i]);
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
  return json;
}

/// The table as people read it: its cells are texts of several numbers.
Table shown_table(const calibration::ValidationTable& table) {
  ordered_json rows = ordered_json::array();
  for (const auto& cells : table.rows) {
    ordered_json row = ordered_json::object();
    for (std::size_t i = 0; i < cells.size(); ++i) row[fmt::format("{}", i)] = cells[i].text;
    rows.push_back(std::move(row));
  }
  std::vector<Column> columns;
  for (std::size_t i = 0; i < table.columns.size(); ++i) {
    // The name of a CSV column is the title, as the tree has it.
    columns.push_back({.title = table.columns[i],
                       .fields = {{fmt::format("{}", i), table.columns[i]}},
                       .rank = i == 0  ? Rank::Identity
                               : i < 4 ? Rank::Essential
                               : i < 7 ? Rank::Useful
                                       : Rank::Detail});
  }
  return {.kind = "row", .rows = {.own = std::move(rows)}, .columns = std::move(columns)};
}

ordered_json choice_json(const calibration::TileChoice& choice) {
  return {{"exact", choice.exact},
          {"same_area", choice.same_area},
          {"time_shift", choice.shift},
          {"mean_error", choice.error}};
}

/// Ours and the nearest neighbour's side by side.
Column choice_column(std::string title, const char* key, Rank rank, std::string hint) {
  return {.title = std::move(title),
          .fields = {{fmt::format("ours/{}", key)}, {fmt::format("nearest/{}", key)}},
          .unit = Unit::Fraction,
          .rank = rank,
          .hint = std::move(hint)};
}

BarChart tiles_chart() {
  return {.title = "Launched tiles that are chosen",
          .axis = "part of the rows",
          .unit = Unit::Percent,
          .rows = {.at = "/summary"},
          .label = "group",
          .series = {{.name = "ours", .at = "ours/exact", .color = "#0072b2"},
                     {.name = "nearest measured shape", .at = "nearest/exact", .color = "#56b4e9"}},
          .note = "the truth is the launched kernel's name"};
}

std::string range_text(const cost::learned::Range& range) {
  std::string text;
  for (const auto& [dimension, limits] : range.dimensions)
    text +=
        fmt::format("{}{} {:g}..{:g}", text.empty() ? "" : ", ", dimension, limits[0], limits[1]);
  return fmt::format("{} ({}; {})", text, fmt::join(range.dtypes, ", "),
                     fmt::join(range.vendors, ", "));
}

ordered_json inspection_json(const calibration::Inspection& inspection,
                             const ProvenanceReport& provenance) {
  ordered_json json{{"schema", 1}, {"groups", ordered_json::array()}};
  for (const calibration::GroupFacts& g : inspection.groups) {
    ordered_json row{{"class", g.name},
                     {"gpu", g.gpu},
                     {"campaign", g.campaign},
                     {"rows", g.rows},
                     {"shortest_ms", g.shortest * 1e3},
                     {"longest_ms", g.longest * 1e3},
                     {"below_bound", g.below_bound},
                     {"repeated", g.duplicates}};
    if (g.duplicates > 0) row["spread"] = g.duplicate_spread;
    json["groups"].push_back(std::move(row));
  }
  json["notes"] = inspection.notes;
  json["suspicious_rows"] = inspection.suspicious_rows;
  json["provenance"] = provenance_json(provenance);
  return json;
}

Table groups_table() {
  return {.kind = "group",
          .rows = {.at = "/groups"},
          .columns = {{.title = "class", .fields = {{"class"}}, .rank = Rank::Identity},
                      {.title = "GPU", .fields = {{"gpu"}}},
                      {.title = "campaign", .fields = {{"campaign"}}, .rank = Rank::Useful},
                      {.title = "rows", .fields = {{"rows"}}, .unit = Unit::Count},
                      {.title = "shortest",
                       .fields = {{"shortest_ms"}},
                       .unit = Unit::Milliseconds,
                       .rank = Rank::Useful},
                      {.title = "longest",
                       .fields = {{"longest_ms"}},
                       .unit = Unit::Milliseconds,
                       .rank = Rank::Useful},
                      {.title = "below bound", .fields = {{"below_bound"}}, .unit = Unit::Count},
                      {.title = "repeated",
                       .fields = {{"repeated"}},
                       .unit = Unit::Count,
                       .rank = Rank::Detail},
                      {.title = "spread",
                       .fields = {{"spread"}},
                       .unit = Unit::Fraction,
                       .rank = Rank::Detail}}};
}

}  // namespace

Document describe(const calibration::ValidationTable& table) {
  Document document;
  document.title = table.title;
  document.data = validation_json(table);
  document.verdict = errors_verdict(table.summary);
  if (!table.summary.empty()) document.sections.emplace_back(Figure(errors_chart(table.summary)));
  document.sections.emplace_back(shown_table(table));
  document.sections.emplace_back(Note{.lines = table.notes});
  document.provenance = table.provenance;
  return document;
}

Document describe(std::span<const calibration::TileAgreement> groups,
                  const ProvenanceReport& provenance, const std::vector<std::string>& warnings) {
  ordered_json json{{"schema", 1}, {"summary", ordered_json::array()}};
  for (const calibration::TileAgreement& a : groups) {
    json["summary"].push_back({{"group", a.group},
                               {"rows", a.rows},
                               {"ours", choice_json(a.ours)},
                               {"nearest", choice_json(a.nearest)},
                               {"launched_error", a.launched_error}});
  }
  json["provenance"] = provenance_json(provenance);
  json["warnings"] = warnings;
  Document document;
  document.title = "Accuracy: tiles";
  document.data = std::move(json);
  document.sections.emplace_back(
      Note{.lines = {"Each GPU is predicted with weights and tiles of the other GPUs only; the "
                     "truth is the tile in the launched kernel's name. Cells show ours / the tile "
                     "of the nearest measured shape. Time shift: time with the chosen tile "
                     "relative to the launched one, by the fitted form. Error: relative to the "
                     "measured time, in the last column with the launched tile."}});
  document.sections.emplace_back(Figure(tiles_chart()));
  document.sections.emplace_back(
      Table{.kind = "summary",
            .rows = {.at = "/summary"},
            .columns = {{.title = "group", .fields = {{"group"}}, .rank = Rank::Identity},
                        {.title = "rows", .fields = {{"rows"}}, .unit = Unit::Count},
                        choice_column("exact", "exact", Rank::Essential, "the launched tile"),
                        choice_column("same area", "same_area", Rank::Useful, ""),
                        choice_column("time shift", "time_shift", Rank::Useful, ""),
                        choice_column("error", "mean_error", Rank::Essential, ""),
                        {.title = "launched",
                         .fields = {{"launched_error"}},
                         .unit = Unit::Fraction,
                         .rank = Rank::Useful}}});
  document.warnings = warnings_of(warnings);
  document.provenance = provenance;
  return document;
}

Document describe(const calibration::Inspection& inspection, const ProvenanceReport& provenance) {
  Document document;
  document.title = "Measured kernels";
  document.data = inspection_json(inspection, provenance);
  document.sections.emplace_back(groups_table());
  Facts ranges{.title = "Ranges", .rows = {}};
  for (const auto& [name, range] : inspection.ranges)
    ranges.rows.push_back({name, range_text(range)});
  if (!ranges.rows.empty()) document.sections.emplace_back(std::move(ranges));
  if (!inspection.notes.empty())
    document.sections.emplace_back(Note{.title = "Notes", .lines = inspection.notes, .list = true});
  std::vector<std::string> suspicious;
  for (const calibration::Suspicious& s : inspection.suspicious)
    suspicious.push_back(fmt::format("{}: {}", s.where, s.reason));
  if (!suspicious.empty()) {
    const bool cut = inspection.suspicious_rows > static_cast<std::int64_t>(suspicious.size());
    document.sections.emplace_back(
        Note{.title = cut ? fmt::format("Suspicious rows (the first {} of {})", suspicious.size(),
                                        inspection.suspicious_rows)
                          : "Suspicious rows",
             .lines = suspicious,
             .list = true});
  }
  document.warnings = warnings_of(replacement_notes(provenance));
  document.provenance = provenance;
  return document;
}

}  // namespace rooftile::report
