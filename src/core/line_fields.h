// SPDX-License-Identifier: Apache-2.0
//
// One line of a delimited table -> fields. Tables of profilers are one record per line, and are
// found between lines that are not a table at all, which is why core/csv.h (a whole file is a
// table) is not used for them. RFC 4180 quoting; a quote that is never closed ends with the line.
#pragma once

#include <cstddef>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace rooftile {

class LineFields {
 public:
  /// Splits `line`; the fields live until the next call, or as long as the line itself.
  /// Returns false when a quoted field is not closed.
  bool split(std::string_view line, char delimiter);

  [[nodiscard]] std::size_t size() const { return fields_.size(); }
  [[nodiscard]] std::string_view operator[](std::size_t i) const { return fields_[i]; }
  /// Index of the field with this text, spaces around it ignored.
  [[nodiscard]] std::optional<std::size_t> find(std::string_view text) const;

 private:
  std::vector<std::string_view> fields_;
  std::deque<std::string> unescaped_;  ///< a deque, so that views into it stay valid
};

/// The delimiter of a header line that must contain the column `wanted`; nothing if it has none.
std::optional<char> header_delimiter(std::string_view line, std::string_view wanted);

}  // namespace rooftile
