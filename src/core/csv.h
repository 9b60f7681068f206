// SPDX-License-Identifier: Apache-2.0
//
// A streaming CSV reader: RFC 4180 quoting, BOM, LF and CRLF, any file size in bounded memory.
// Fields are views into the reader's buffer and live until the next call of next().
//
//   ROOFTILE_TRY(auto csv, CsvReader::open("kernels.csv", {}));
//   ROOFTILE_TRY(const CsvHeader header, CsvHeader::read(csv));
//   ROOFTILE_TRY(const std::size_t m, header.column("m"));
//   while (true) {
//     ROOFTILE_TRY(const bool more, csv.next());
//     if (!more) break;
//     ROOFTILE_TRY(const double v, csv.number(m));   // errors name file, line and column
//   }
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/file.h"
#include "core/result.h"

namespace rooftile {

struct CsvOptions {
  char delimiter = ',';
  std::size_t max_record_bytes = 64 << 20;  ///< a longer record (a lost quote) is an error
  std::size_t max_fields = 1 << 20;         ///< more in one record is an error
  bool skip_blank_lines = true;
};

class CsvReader {
 public:
  /// `path` may be "-" for standard input.
  static Result<CsvReader> open(const std::string& path, const CsvOptions& options);
  /// Reads from memory; `name` is what errors call it.
  static CsvReader from_text(std::string_view text, std::string name, const CsvOptions& options);

  /// Advances to the next record; false at the end.
  Result<bool> next();

  [[nodiscard]] std::span<const std::string_view> fields() const { return fields_; }
  [[nodiscard]] std::string_view operator[](std::size_t column) const { return fields_[column]; }
  /// Line on which the current record begins, from 1.
  [[nodiscard]] std::int64_t line() const { return record_line_; }
  [[nodiscard]] const std::string& name() const { return name_; }
  /// Bytes consumed so far, for progress.
  [[nodiscard]] std::int64_t bytes_read() const {
    return consumed_before_buffer_ + static_cast<std::int64_t>(position_);
  }

  /// The field as a number / whole number; the error names file, line and column (from 1).
  [[nodiscard]] Result<double> number(std::size_t column) const;
  [[nodiscard]] Result<std::int64_t> integer(std::size_t column) const;
  [[nodiscard]] std::string where(std::size_t column) const;
  [[nodiscard]] std::string where() const;

 private:
  struct RawField {
    std::size_t begin;
    std::size_t end;
    bool has_escapes;
  };
  enum class Scan : std::uint8_t { Complete, NeedMore, HasQuote, TooManyFields };

  CsvReader(std::string name, const CsvOptions& options)
      : name_(std::move(name)), options_(options) {}
  Scan scan_record();
  Scan scan_plain_record();
  Scan scan_quoted_record();
  void end_plain_record(const char* field, const char* p);
  void unescape_fields();
  Status refill();

  std::string name_;
  CsvOptions options_;
  std::optional<InputFile> input_;  ///< absent when reading from memory
  std::vector<char> buffer_;
  std::size_t position_ = 0;  ///< start of the next record
  std::size_t size_ = 0;      ///< valid bytes in buffer_
  std::size_t record_end_ = 0;
  bool record_is_blank_ = false;
  bool at_end_ = false;
  bool started_ = false;
  std::int64_t consumed_before_buffer_ = 0;
  std::int64_t next_line_ = 1;
  std::int64_t record_line_ = 0;
  std::int64_t lines_in_record_ = 0;
  std::vector<RawField> raw_;
  std::vector<std::string_view> fields_;
};

/// Names of the columns, with errors that suggest the nearest one.
class CsvHeader {
 public:
  /// Takes the next record of `csv` as the header; duplicate names are an error.
  static Result<CsvHeader> read(CsvReader& csv);

  [[nodiscard]] Result<std::size_t> column(std::string_view name) const;
  [[nodiscard]] std::optional<std::size_t> find(std::string_view name) const;
  [[nodiscard]] std::size_t size() const { return names_.size(); }
  [[nodiscard]] std::span<const std::string> names() const { return names_; }
  /// Fails when the current record has another number of fields than the header.
  [[nodiscard]] Status check_width(const CsvReader& csv) const;

 private:
  std::string where_;
  std::vector<std::string> names_;
};

}  // namespace rooftile
