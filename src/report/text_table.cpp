// SPDX-License-Identifier: Apache-2.0
#include "report/text_table.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/utf8.h"

namespace rooftile::report {

namespace {
constexpr std::size_t kTextGap = 2;  ///< columns between columns
}

void TextTable::add(std::vector<std::string> cells) {
  for (std::string& cell : cells) cell = visible(cell);
  rows_.push_back(std::move(cells));
}

TextTable::Layout TextTable::layout(int width, int indent) const {
  Layout result{.widths = {}, .left_out = std::vector<bool>(columns_.size(), false)};
  std::vector<std::size_t>& widths = result.widths;
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    std::size_t widest = utf8_count(visible(columns_[c].title));
    for (const auto& row : rows_) widest = std::max(widest, utf8_count(row[c]));
    widths.push_back(widest);
  }
  const auto total = [&] {
    std::size_t sum = static_cast<std::size_t>(indent);
    for (std::size_t c = 0; c < columns_.size(); ++c) {
      if (!result.left_out[c]) sum += widths[c] + (c > 0 ? kTextGap : 0);
    }
    return sum;
  };
  for (std::size_t c = columns_.size(); c-- > 0;) {
    if (columns_[c].optional && total() > static_cast<std::size_t>(width)) {
      result.left_out[c] = true;
    }
  }
  while (total() > static_cast<std::size_t>(width)) {  // the widest shrinkable column gives way
    std::size_t victim = columns_.size();
    for (std::size_t c = 0; c < columns_.size(); ++c) {
      if (columns_[c].shrink && widths[c] > 8 &&
          (victim == columns_.size() || widths[c] > widths[victim])) {
        victim = c;
      }
    }
    if (victim == columns_.size()) break;
    --widths[victim];
  }
  return result;
}

std::vector<std::string> TextTable::left_out(int width, int indent) const {
  const Layout room = layout(width, indent);
  std::vector<std::string> titles;
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    if (room.left_out[c]) titles.push_back(columns_[c].title);
  }
  return titles;
}

std::string TextTable::render(int width, int indent) const {
  const Layout room = layout(width, indent);
  std::string text;
  const auto line = [&](const auto& cell_of) {
    std::string row(static_cast<std::size_t>(indent), ' ');
    for (std::size_t c = 0; c < columns_.size(); ++c) {
      if (room.left_out[c]) continue;
      const std::string cell = shorten(cell_of(c), room.widths[c]);
      if (c > 0) row.append(kTextGap, ' ');
      row += columns_[c].align == Align::Right ? fmt::format("{:>{}}", cell, room.widths[c])
                                               : fmt::format("{:<{}}", cell, room.widths[c]);
    }
    row.erase(row.find_last_not_of(' ') + 1);
    text += row + "\n";
  };
  line([&](std::size_t c) { return columns_[c].title; });
  for (const auto& row : rows_) line([&](std::size_t c) { return row[c]; });
  return text;
}

}  // namespace rooftile::report
