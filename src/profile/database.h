// SPDX-License-Identifier: Apache-2.0
//
// A SQLite file, read as if it were meant to do harm: opened read-only and without locks, views,
// triggers, extensions and functions of the schema switched off, every length limited, every
// statement a plain scan of one table whose number of steps is bounded by the size of the file (a
// page may be linked many times over). Joins are ours. Tables that lack a column read as if it were
// empty everywhere: exports of other versions do.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "profile/text_source.h"

namespace rooftile::profile {

/// The cells of one row, in the order of the columns that were asked for. Valid until the next row.
class DatabaseRow {
 public:
  explicit DatabaseRow(void* statement) : statement_(statement) {}
  [[nodiscard]] std::optional<std::int64_t> integer(int column) const;
  [[nodiscard]] std::optional<double> number(int column) const;  ///< finite
  [[nodiscard]] std::string_view text(int column) const;         ///< empty: nothing there

 private:
  void* statement_;
};

class Database {
 public:
  /// Takes what the source holds: a file by its path, else bytes in memory (standard input, gzip).
  static Result<Database> open(TextSource& source);
  Database(Database&&) noexcept;
  Database& operator=(Database&&) noexcept;
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;
  ~Database();

  [[nodiscard]] bool has(std::string_view table) const;
  /// Tables whose name begins so.
  [[nodiscard]] std::vector<std::string> tables(std::string_view prefix) const;
  /// A file next to the database holds changes that are not in it.
  [[nodiscard]] bool has_journal() const;

  /// Calls `visit` for every row; an error of it ends the scan. A table that does not exist has no
  /// rows.
  Status each(const std::string& table, std::span<const std::string_view> columns,
              const std::function<Status(const DatabaseRow&)>& visit);

 private:
  struct State;
  explicit Database(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace rooftile::profile
