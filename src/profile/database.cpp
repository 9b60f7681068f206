// SPDX-License-Identifier: Apache-2.0
#include "profile/database.h"

#include <fmt/format.h>
#include <sqlite3.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "core/text.h"

namespace rooftile::profile {

namespace {

constexpr std::size_t kMostInMemory = std::size_t{1} << 30;
constexpr int kStepsPerLook = 20'000;          ///< of SQLite's machine, between two looks
constexpr std::int64_t kLeastSteps = 400'000;  ///< any statement may take these
constexpr std::int64_t kStepsPerByte = 4;      ///< a row of n bytes takes far less than 4 n steps
constexpr std::size_t kMostTables = 10'000;

struct EndStatement {
  void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
};
using Statement = std::unique_ptr<sqlite3_stmt, EndStatement>;

/// As a URI: a path may hold characters that mean something there.
std::string uri_of(const std::string& path) {
  std::string uri = "file:";
  for (const char c : path) {
    if (c == '%' || c == '?' || c == '#') {
      uri += fmt::format("%{:02X}", static_cast<unsigned>(static_cast<unsigned char>(c)));
    } else {
      uri += c;
    }
  }
  return uri + "?immutable=1";
}

std::string identifier(std::string_view name) {
  std::string text = "\"";
  for (const char c : name) {
    text += c;
    if (c == '"') text += c;
  }
  return text + "\"";
}

void harden(sqlite3* database) {
  for (const int option :
       {SQLITE_DBCONFIG_TRUSTED_SCHEMA, SQLITE_DBCONFIG_ENABLE_VIEW, SQLITE_DBCONFIG_ENABLE_TRIGGER,
        SQLITE_DBCONFIG_ENABLE_FKEY, SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION}) {
    sqlite3_db_config(database, option, 0, nullptr);
  }
  sqlite3_db_config(database, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  struct Limit {
    int what, most;
  };
  constexpr int kMostLength = 16 << 20;
  // Views are parsed with the schema, though never run: those of rocpd join many terms.
  for (const Limit limit :
       {Limit{SQLITE_LIMIT_LENGTH, kMostLength}, Limit{SQLITE_LIMIT_SQL_LENGTH, 1 << 20},
        Limit{SQLITE_LIMIT_COLUMN, 2000}, Limit{SQLITE_LIMIT_EXPR_DEPTH, 200},
        Limit{SQLITE_LIMIT_COMPOUND_SELECT, 100}, Limit{SQLITE_LIMIT_VDBE_OP, 25'000},
        Limit{SQLITE_LIMIT_FUNCTION_ARG, 32}, Limit{SQLITE_LIMIT_ATTACHED, 0},
        Limit{SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 64}, Limit{SQLITE_LIMIT_VARIABLE_NUMBER, 8},
        Limit{SQLITE_LIMIT_TRIGGER_DEPTH, 1}, Limit{SQLITE_LIMIT_WORKER_THREADS, 0}}) {
    sqlite3_limit(database, limit.what, limit.most);
  }
}

sqlite3_stmt* raw(void* statement) {
  return static_cast<sqlite3_stmt*>(statement);
}

}  // namespace

std::optional<std::int64_t> DatabaseRow::integer(int column) const {
  if (sqlite3_column_type(raw(statement_), column) != SQLITE_INTEGER) return std::nullopt;
  return sqlite3_column_int64(raw(statement_), column);
}

std::optional<double> DatabaseRow::number(int column) const {
  const int type = sqlite3_column_type(raw(statement_), column);
  if (type != SQLITE_INTEGER && type != SQLITE_FLOAT) return std::nullopt;
  const double value = sqlite3_column_double(raw(statement_), column);
  return std::isfinite(value) ? std::optional(value) : std::nullopt;
}

std::string_view DatabaseRow::text(int column) const {
  if (sqlite3_column_type(raw(statement_), column) != SQLITE_TEXT) return {};
  const unsigned char* text = sqlite3_column_text(raw(statement_), column);
  const auto size = static_cast<std::size_t>(sqlite3_column_bytes(raw(statement_), column));
  // The library hands text out as unsigned bytes.
  return text == nullptr ? std::string_view()
                         : std::string_view(reinterpret_cast<const char*>(text), size);
}

struct Database::State {
  struct Close {
    void operator()(sqlite3* database) const { sqlite3_close_v2(database); }
  };
  TextSource& source;
  std::vector<unsigned char> memory;  ///< outlives the handle
  std::int64_t bytes = 0;
  std::string path;  ///< empty: in memory
  std::unique_ptr<sqlite3, Close> handle;
  std::vector<std::string> tables;
  std::int64_t steps = 0;
  double done = 0.0;  ///< of all scans, as a guess
  std::int64_t scans = 0;
  std::optional<Error> stopped;

  explicit State(TextSource& from) : source(from) {}
  Status start();
  Status read_tables();
  [[nodiscard]] tl::unexpected<Error> failed() const;
  static int look(void* self);
};

tl::unexpected<Error> Database::State::failed() const {
  if (stopped) return tl::unexpected(*stopped);
  const int code = sqlite3_extended_errcode(handle.get()) & 0xff;
  if (code == SQLITE_INTERRUPT) {
    return bad_input(source.name(), "the database takes more steps than its size can explain",
                     "it is damaged, or made to do harm; export it again");
  }
  return bad_input(
      source.name(),
      fmt::format("SQLite cannot read the database: {}", printable(sqlite3_errmsg(handle.get()))),
      "copy the file again, or export it again");
}

/// Runs now and then while SQLite works.
int Database::State::look(void* self) {
  State& state = *static_cast<State*>(self);
  state.steps += kStepsPerLook;
  if (state.steps > kLeastSteps + kStepsPerByte * state.bytes) return 1;
  // About seven scans; within one, what its steps would be at a row of 40 bytes.
  const double share =
      static_cast<double>(state.steps) / (1.0 + 0.2 * static_cast<double>(state.bytes));
  constexpr double kScans = 7.0;
  const double fraction = (static_cast<double>(state.scans) + std::min(share, 1.0)) / kScans;
  const Status status = state.source.report(std::min(fraction, 0.99));
  if (status) return 0;
  state.stopped = status.error();
  return 1;
}

Status Database::State::start() {
  sqlite3* opened = nullptr;
  const int mode = SQLITE_OPEN_READONLY | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX;
  const auto file = source.plain_file();
  if (file) {
    path = *file;
    std::error_code ignored;
    bytes = static_cast<std::int64_t>(std::filesystem::file_size(path, ignored));
    const int code = sqlite3_open_v2(uri_of(path).c_str(), &opened, mode, nullptr);
    handle.reset(opened);
    if (code != SQLITE_OK) return failed();
  } else {
    std::vector<char> chunk(std::size_t{1} << 16);
    while (true) {
      ROOFTILE_TRY(const std::size_t got, source.read(chunk.data(), chunk.size()));
      if (got == 0) break;
      memory.insert(memory.end(), chunk.begin(), chunk.begin() + static_cast<std::ptrdiff_t>(got));
      if (memory.size() > kMostInMemory) {
        return bad_input(source.name(), "the database is larger than 1 GiB and not a file",
                         "unpack it, or write it to a file");
      }
    }
    constexpr std::size_t kHeader = 100, kWriteVersion = 18, kReadVersion = 19;
    if (memory.size() < kHeader) return bad_input(source.name(), "the database is cut");
    // A database whose journal lies beside it (2) cannot be opened in memory; there is none here.
    memory[kWriteVersion] = std::min<unsigned char>(memory[kWriteVersion], 1);
    memory[kReadVersion] = std::min<unsigned char>(memory[kReadVersion], 1);
    bytes = static_cast<std::int64_t>(memory.size());
    const int code = sqlite3_open_v2(":memory:", &opened, mode | SQLITE_OPEN_MEMORY, nullptr);
    handle.reset(opened);
    if (code != SQLITE_OK) return failed();
    if (sqlite3_deserialize(handle.get(), "main", memory.data(), bytes, bytes,
                            SQLITE_DESERIALIZE_READONLY) != SQLITE_OK) {
      return failed();
    }
  }
  harden(handle.get());
  sqlite3_progress_handler(handle.get(), kStepsPerLook, look, this);
  return read_tables();
}

/// Real tables only: a view can be any computation, a virtual table any code.
Status Database::State::read_tables() {
  sqlite3_stmt* made = nullptr;
  const int code = sqlite3_prepare_v2(
      handle.get(), "SELECT name, sql FROM sqlite_schema WHERE type = 'table'", -1, &made, nullptr);
  const Statement statement(made);
  if (code != SQLITE_OK) return failed();
  int step = SQLITE_ROW;
  while ((step = sqlite3_step(made)) == SQLITE_ROW) {
    const DatabaseRow row(made);
    const std::string sql = to_lower(row.text(1).substr(0, 64));
    if (sql.find("virtual") != std::string::npos || tables.size() == kMostTables) continue;
    tables.emplace_back(row.text(0));
  }
  if (step != SQLITE_DONE) return failed();
  std::sort(tables.begin(), tables.end());
  return {};
}

Database::Database(std::unique_ptr<State> state) : state_(std::move(state)) {
}
Database::Database(Database&&) noexcept = default;
Database& Database::operator=(Database&&) noexcept = default;
Database::~Database() = default;

Result<Database> Database::open(TextSource& source) {
  auto state = std::make_unique<State>(source);
  ROOFTILE_CHECK(state->start());
  return Database(std::move(state));
}

bool Database::has(std::string_view table) const {
  return std::binary_search(state_->tables.begin(), state_->tables.end(), table);
}

std::vector<std::string> Database::tables(std::string_view prefix) const {
  std::vector<std::string> found;
  for (const std::string& table : state_->tables) {
    if (table.starts_with(prefix)) found.push_back(table);
  }
  return found;
}

bool Database::has_journal() const {
  if (state_->path.empty()) return false;
  std::error_code ignored;
  const auto size = std::filesystem::file_size(state_->path + "-wal", ignored);
  return !ignored && size > 0;
}

Status Database::each(const std::string& table, std::span<const std::string_view> columns,
                      const std::function<Status(const DatabaseRow&)>& visit) {
  State& s = *state_;
  if (!has(table)) return {};
  s.steps = 0;
  sqlite3_stmt* made = nullptr;
  if (sqlite3_prepare_v2(s.handle.get(), ("SELECT * FROM " + identifier(table)).c_str(), -1, &made,
                         nullptr) != SQLITE_OK) {
    return s.failed();
  }
  const Statement all(made);
  std::string sql;
  for (const std::string_view column : columns) {
    bool there = false;
    for (int i = 0; i < sqlite3_column_count(made) && !there; ++i) {
      const char* name = sqlite3_column_name(made, i);
      there = name != nullptr && column == name;
    }
    sql += (sql.empty() ? "SELECT " : ", ") + (there ? identifier(column) : "NULL");
  }
  sqlite3_stmt* wanted = nullptr;
  if (sqlite3_prepare_v2(s.handle.get(), (sql + " FROM " + identifier(table)).c_str(), -1, &wanted,
                         nullptr) != SQLITE_OK) {
    return s.failed();
  }
  const Statement scan(wanted);
  int step = SQLITE_ROW;
  while ((step = sqlite3_step(wanted)) == SQLITE_ROW) ROOFTILE_CHECK(visit(DatabaseRow(wanted)));
  if (step != SQLITE_DONE) return s.failed();
  s.scans += 1;
  return {};
}

}  // namespace rooftile::profile
