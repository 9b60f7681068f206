// SPDX-License-Identifier: Apache-2.0
#include "report/cells.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>

#include "report/lines.h"

namespace rooftile::report {

namespace {

using nlohmann::ordered_json;

constexpr std::string_view kInterval = " - ", kNothing = "-";
constexpr int kBarColumns = 10;

/// ">=" before what was computed from incomplete counters, "*" behind what a note explains.
std::string marked(const Column& column, const ordered_json& row, std::string text) {
  if (text == kNothing) return text;
  const ordered_json& complete = value_at(row, column.lower_bound);
  if (!column.lower_bound.empty() && complete.is_boolean() && !complete.get<bool>())
    text.insert(0, ">=");
  if (!column.starred.empty() && !value_at(row, column.starred).is_null()) text += '*';
  return text;
}

std::string plain_cell(const Column& column, const ordered_json& row) {
  if (column.constant) return *column.constant;
  if (column.fields.size() == 1) return shown(value_of(row, column.fields.front()), column.unit);
  std::vector<std::string> parts;
  bool any = false, same = true;
  const ordered_json first = value_of(row, column.fields.front());
  for (const Field& field : column.fields) {
    const ordered_json value = value_of(row, field);
    any = any || !value.is_null();
    same = same && value == first;
    parts.push_back(shown(value, column.unit));
  }
  if (same && first.is_string()) return first.get<std::string>();
  // An interval without a width is not shown.
  if (!any || (column.join == kInterval && same)) return std::string(kNothing);
  if (same && first.is_number() && first.get<double>() == 0) return "zero";
  return fmt::format("{}", fmt::join(parts, column.join));
}

std::string cell_of(const Column& column, const ordered_json& row) {
  return marked(column, row, plain_cell(column, row));
}

double number_at(const ordered_json& row, const std::string& at) {
  const ordered_json& value = value_at(row, at);
  return value.is_number() ? value.get<double>() : 0.0;
}

std::vector<const ordered_json*> ordered(const Document& document, const Table& table) {
  std::vector<const ordered_json*> list = rows_of(document, table.rows);
  std::erase_if(list, [&](const ordered_json* row) {
    return !table.where.empty() && value_at(*row, table.where).is_null();
  });
  const std::string& by = table.order;
  if (!by.empty()) {
    std::stable_sort(list.begin(), list.end(), [&](const ordered_json* a, const ordered_json* b) {
      return number_at(*a, by) > number_at(*b, by);
    });
  }
  return list;
}

/// Blank where a row of another kind (a sum, a part of the step) has no value.
std::vector<std::string> line_of(const Cells& cells, const ordered_json& row, double largest,
                                 bool blank) {
  std::vector<std::string> line;
  for (const Column* column : cells.columns) {
    const ordered_json* value =
        column->fields.empty() ? nullptr : &value_at(row, column->fields.front().at);
    if (column->form == Form::Bar) {
      const bool some = value != nullptr && value->is_number() && largest > 0;
      line.push_back(some ? bar(value->get<double>() / largest, kBarColumns) : "");
    } else if (blank && value != nullptr && value->is_null()) {
      line.emplace_back();
    } else {
      line.push_back(cell_of(*column, row));
    }
  }
  return line;
}

/// "(12 others)" with the sums of what adds up.
ordered_json sum_of(const Cells& cells, const std::vector<const ordered_json*>& rows,
                    std::size_t from) {
  ordered_json sum;
  for (const Column* column : cells.columns) {
    const std::string& at = column->fields.empty() ? std::string() : column->fields.front().at;
    if (column->rank == Rank::Identity && !sum.contains(at) && sum.empty()) {
      sum[at] =
          fmt::format("({} {})", rows.size() - from, rows.size() - from == 1 ? "other" : "others");
    } else if (column->sum) {
      double total = 0;
      for (std::size_t i = from; i < rows.size(); ++i) total += number_at(*rows[i], at);
      sum[at] = total;
    }
  }
  return sum;
}

}  // namespace

bool is_numeric(const Column& column) {
  return column.unit != Unit::None && column.unit != Unit::Phase;
}

Cells cells_of(const Document& document, const Table& table, bool bars) {
  Cells cells;
  for (const Column& column : table.columns) {
    const bool hidden = column.form == Form::DataOnly || (column.form == Form::Bar && !bars);
    if (!hidden) cells.columns.push_back(&column);
  }
  const auto list = ordered(document, table);
  const std::size_t most = table.top > 0 ? std::min(table.top, list.size()) : list.size();
  double largest = 0;
  for (const Column* column : cells.columns) {
    if (column->form != Form::Bar) continue;
    for (const ordered_json* row : list)
      largest = std::max(largest, number_at(*row, column->fields.front().at));
  }
  for (std::size_t i = 0; i < most; ++i)
    cells.rows.push_back(line_of(cells, *list[i], largest, false));
  if (most < list.size()) cells.rows.push_back(line_of(cells, sum_of(cells, list, most), 0, true));
  for (const ordered_json& row : table.more.json())
    cells.rows.push_back(line_of(cells, row, 0, true));
  if (!table.total.json().is_null())
    cells.rows.push_back(line_of(cells, table.total.json(), 0, true));
  return cells;
}

}  // namespace rooftile::report
