// SPDX-License-Identifier: Apache-2.0
//
// The tables of a document for spreadsheets and scripts: one line per row, every column, numbers in
// the units that the names of the columns say. Several tables are one below the other under the
// columns of all of them; the column `kind` then says which one a line is from.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "report/lines.h"
#include "report/writer.h"

namespace rooftile::report {

namespace {

using nlohmann::ordered_json;

std::string plain(const ordered_json& value) {
  if (value.is_null()) return "";
  if (value.is_string()) return value.get<std::string>();
  if (value.is_boolean()) return value.get<bool>() ? "true" : "false";
  if (value.is_number_unsigned()) return fmt::format("{}", value.get<std::uint64_t>());
  if (value.is_number_integer()) return fmt::format("{}", value.get<std::int64_t>());
  if (value.is_number()) return fmt::format("{}", value.get<double>());
  std::string text;  // "sms=2;dram_bw=4", "a;b"
  for (const auto& [key, one] : value.items()) {
    if (!text.empty()) text += ';';
    text += value.is_object() ? fmt::format("{}={}", key, plain(one)) : plain(one);
  }
  return text;
}

std::string name_of_field(const Column& column, const Field& field) {
  if (!field.name.empty()) return field.name;
  if (field.at.empty()) return column.title;
  std::string name = field.at;
  std::replace(name.begin(), name.end(), '/', '_');
  return name;
}

bool in_csv(const Column& column) {
  return column.form != Form::Bar && column.form != Form::Shown;
}

struct Header {
  std::vector<std::string> names;
  std::map<std::string, std::size_t> index;
  std::size_t place(const std::string& name) {
    const auto [it, fresh] = index.emplace(name, names.size());
    if (fresh) names.push_back(name);
    return it->second;
  }
};

std::vector<const Table*> tables_of(const Document& document) {
  std::vector<const Table*> tables;
  for (const Section& section : document.sections) {
    const auto* table = std::get_if<Table>(&section);
    if (table != nullptr && table->data) tables.push_back(table);
  }
  return tables;
}

void add_row(const Table& table, const ordered_json& row, bool kinds, const Header& header,
             std::string& text) {
  if (!table.where.empty() && value_at(row, table.where).is_null()) return;
  std::vector<std::string> cells(header.names.size());
  if (kinds) cells.front() = table.kind;
  for (const Column& column : table.columns) {
    if (!in_csv(column)) continue;
    for (const Field& field : column.fields) {
      const auto it = header.index.find(name_of_field(column, field));
      cells[it->second] =
          csv_field(column.constant ? *column.constant : plain(value_of(row, field)));
    }
  }
  text += fmt::format("{}\n", fmt::join(cells, ","));
}

std::string write_csv(const Document& document, const WriteOptions& /*options*/) {
  const std::vector<const Table*> tables = tables_of(document);
  const bool kinds = std::any_of(tables.begin(), tables.end(), [&](const Table* table) {
    return table->kind != tables.front()->kind;
  });
  Header header;
  if (kinds) header.place("kind");
  for (const Table* table : tables) {
    for (const Column& column : table->columns) {
      if (!in_csv(column)) continue;
      for (const Field& field : column.fields) header.place(name_of_field(column, field));
    }
  }
  std::string text = fmt::format("{}\n", fmt::join(header.names, ","));
  for (const Table* table : tables) {
    for (const ordered_json* row : rows_of(document, table->rows))
      add_row(*table, *row, kinds, header, text);
    for (const ordered_json& row : table->more.json()) add_row(*table, row, kinds, header, text);
  }
  return text;
}

}  // namespace

Writer csv_writer() {
  return {.name = "csv", .endings = {".csv"}, .warnings = false, .make = write_csv};
}

}  // namespace rooftile::report
