// SPDX-License-Identifier: Apache-2.0
//
// Tables of the views that are no documents yet (document.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "report/lines.h"

namespace rooftile::report {

enum class Align : std::uint8_t { Left, Right };

struct TextColumn {
  std::string title;
  Align align = Align::Left;
  bool shrink = false;    ///< give way (cut with "..") when the table is too wide
  bool optional = false;  ///< left out when the table is too wide, the rightmost first
};

class TextTable {
 public:
  explicit TextTable(std::vector<TextColumn> columns) : columns_(std::move(columns)) {}
  void add(std::vector<std::string> cells);
  /// Lines that end in '\n', indented by `indent`, at most `width` columns where shrinking can do
  /// it.
  [[nodiscard]] std::string render(int width, int indent) const;
  /// Titles of the columns for which `width` has no room.
  [[nodiscard]] std::vector<std::string> left_out(int width, int indent) const;

 private:
  struct Layout {
    std::vector<std::size_t> widths;
    std::vector<bool> left_out;
  };
  [[nodiscard]] Layout layout(int width, int indent) const;

  std::vector<TextColumn> columns_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace rooftile::report
