// SPDX-License-Identifier: Apache-2.0
//
// A committed table of numbers that a test computes again: the leading columns say what is
// computed, the others what came out. tools/update_predictions sets ROOFTILE_REWRITE, and then the
// table is written instead of compared. A new case is a row with nothing but its leading columns.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <string>
#include <vector>

#include "core/csv.h"
#include "core/file.h"
#include "core/text.h"
#include "source_folder.h"

namespace rooftile::testing {

/// Compilers may order sums differently; the table holds six digits.
inline constexpr double kSame = 1e-5;

inline bool rewrites() {
  return std::getenv("ROOFTILE_REWRITE") != nullptr;
}

/// Six digits, shortest form.
inline std::string number_text(double value) {
  return fmt::format("{:.6g}", value);
}

struct Table {
  std::string path;  ///< relative to the source tree
  std::vector<std::string> columns;
  std::vector<std::vector<std::string>> rows;
};

inline Result<Table> read_table(const std::string& path) {
  Table table{.path = path, .columns = {}, .rows = {}};
  ROOFTILE_TRY(auto csv, CsvReader::open((source_folder() / path).string(), {}));
  while (true) {
    ROOFTILE_TRY(const bool more, csv.next());
    if (!more) return table;
    std::vector<std::string> row(csv.fields().begin(), csv.fields().end());
    if (table.columns.empty()) {
      table.columns = std::move(row);
      continue;
    }
    row.resize(table.columns.size());
    table.rows.push_back(std::move(row));
  }
}

/// Quoted where it holds a comma; no cell holds a quote.
inline std::string line_of(const std::vector<std::string>& cells) {
  std::string line;
  for (const std::string& cell : cells) {
    const std::string_view quote = cell.find(',') == std::string::npos ? "" : "\"";
    line += fmt::format("{}{}{}{}", line.empty() ? "" : ",", quote, cell, quote);
  }
  return line + "\n";
}

inline Status write_table(const Table& table) {
  std::string text = line_of(table.columns);
  for (const auto& row : table.rows) text += line_of(row);
  return write_file_atomic((source_folder() / table.path).string(), text);
}

inline bool same_cell(const std::string& before, const std::string& now) {
  if (before == now) return true;
  const auto a = parse_double(before), b = parse_double(now);
  return a && b && std::abs(*a - *b) <= kSame * std::max(std::abs(*a), std::abs(*b));
}

/// "total_ms 12.5 -> 13.1 (+4.8 %)"
inline std::string difference(const std::string& column, const std::string& before,
                              const std::string& now) {
  const auto a = parse_double(before), b = parse_double(now);
  const std::string change =
      a && b && *a != 0 ? fmt::format(" ({:+.2g} %)", (*b / *a - 1) * 100) : std::string();
  return fmt::format("{} {} -> {}{}", column, before, now, change);
}

/// Fills the columns after the first `given` of every row with what `compute` says of them and
/// compares, or rewrites. compute(row) -> Result<std::vector<std::string>>.
template <typename Compute>
void compare_table(const std::string& path, std::size_t given, const Compute& compute) {
  const auto table = read_table(path);
  ASSERT_TRUE(table) << to_string(table.error());
  Table now = *table;
  std::size_t moved = 0;
  std::string report;
  for (auto& row : now.rows) {
    const std::vector<std::string> before = row;
    const auto values = compute(before);
    ASSERT_TRUE(values) << before[given - 1] << "\n" << to_string(values.error());
    ASSERT_EQ(given + values->size(), now.columns.size());
    std::string differences;
    for (std::size_t i = given; i < row.size(); ++i) {
      if (same_cell(before[i], (*values)[i - given])) continue;  // keeps the committed digits
      row[i] = (*values)[i - given];
      differences += "\n    " + difference(now.columns[i], before[i], row[i]);
    }
    if (differences.empty()) continue;
    ++moved;
    constexpr std::size_t kShown = 12;
    if (moved <= kShown) report += fmt::format("\n  {}{}", before[given - 1], differences);
    if (moved == kShown + 1) report += "\n  ...";
  }
  if (rewrites()) {
    const Status written = write_table(now);
    EXPECT_TRUE(written) << to_string(written.error());
    return;
  }
  EXPECT_EQ(moved, 0U) << path << ": " << moved << " of " << now.rows.size()
                       << " rows moved:" << report
                       << "\nhint: if this is meant, run tools/update_predictions and "
                       << "paste what it prints into CHANGELOG.md, \"Predictions that changed\"";
}

/// A table that is written as a whole: its rows are what they are, not cases.
inline void compare_whole_table(const Table& now) {
  if (rewrites()) {
    const Status written = write_table(now);
    EXPECT_TRUE(written) << to_string(written.error());
    return;
  }
  const auto committed = read_table(now.path);
  ASSERT_TRUE(committed) << to_string(committed.error());
  EXPECT_EQ(committed->columns, now.columns);
  ASSERT_EQ(committed->rows.size(), now.rows.size()) << now.path;
  for (std::size_t i = 0; i < now.rows.size(); ++i) {
    ASSERT_EQ(committed->rows[i].size(), now.rows[i].size()) << now.rows[i].front();
    for (std::size_t j = 0; j < now.rows[i].size(); ++j) {
      EXPECT_TRUE(same_cell(committed->rows[i][j], now.rows[i][j]))
          << now.path << ": " << now.rows[i].front() << ": "
          << difference(now.columns[j], committed->rows[i][j], now.rows[i][j])
          << "\nhint: if this is meant, tools/update_predictions";
    }
  }
}

}  // namespace rooftile::testing
