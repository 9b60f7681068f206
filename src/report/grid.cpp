// SPDX-License-Identifier: Apache-2.0
#include "report/grid.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/utf8.h"
#include "report/lines.h"

namespace rooftile::report {

namespace {

constexpr std::size_t kGap = 2;        ///< columns between columns
constexpr std::size_t kNarrowest = 8;  ///< of what can give way

bool continues(const GridColumn& column) {
  return column.rank == Rank::Identity || column.form == Form::Prose;
}
bool names_rows(const GridColumn& column) {
  return column.rank == Rank::Identity;
}
bool is_shape(const GridColumn& column) {
  return column.form == Form::Shape;
}

}  // namespace

void Grid::add(std::vector<std::string> cells) {
  for (std::string& cell : cells) cell = visible(cell);
  rows_.push_back(std::move(cells));
}

std::size_t Grid::total(const Layout& layout) const {
  auto sum = static_cast<std::size_t>(indent_);
  bool first = true;
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    if (layout.gone[c]) continue;
    sum += layout.widths[c] + (first ? 0 : kGap);
    first = false;
  }
  return sum;
}

void Grid::leave_out(Layout& layout, Rank rank) const {
  for (std::size_t c = columns_.size(); c-- > 0;) {
    if (columns_[c].rank == rank && total(layout) > static_cast<std::size_t>(width_))
      layout.gone[c] = true;
  }
}

/// A column that was left out together with a wider one may have room again. Names keep theirs.
void Grid::take_back(Layout& layout, Rank rank) const {
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    if (!layout.gone[c] || columns_[c].rank != rank) continue;
    layout.gone[c] = false;
    layout.gone[c] = total(layout) > static_cast<std::size_t>(width_);
  }
}

/// The widest of the columns gives way first.
void Grid::narrow(Layout& layout, bool (*which)(const GridColumn&), std::size_t least) const {
  while (total(layout) > static_cast<std::size_t>(width_)) {
    std::size_t widest = columns_.size();
    for (std::size_t c = 0; c < columns_.size(); ++c) {
      if (layout.gone[c] || !which(columns_[c]) || layout.widths[c] <= least) continue;
      if (widest == columns_.size() || layout.widths[c] > layout.widths[widest]) widest = c;
    }
    if (widest == columns_.size()) return;
    --layout.widths[widest];
  }
}

/// Room that columns which were left out gave back.
void Grid::widen(Layout& layout, const std::vector<std::size_t>& natural) const {
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    if (layout.gone[c]) continue;
    const std::size_t used = total(layout), all = static_cast<std::size_t>(width_);
    if (used < all) layout.widths[c] = std::min(natural[c], layout.widths[c] + (all - used));
  }
}

Grid::Layout Grid::layout() const {
  Layout result{.widths = {}, .gone = std::vector<bool>(columns_.size(), false)};
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    std::size_t widest = utf8_count(visible(columns_[c].title));
    for (const auto& row : rows_) widest = std::max(widest, utf8_count(row[c]));
    result.widths.push_back(widest);
  }
  const std::vector<std::size_t> natural = result.widths;
  narrow(result, continues, std::max<std::size_t>(20, static_cast<std::size_t>(width_) * 3 / 10));
  for (const Rank rank : {Rank::Extra, Rank::Detail, Rank::Useful}) leave_out(result, rank);
  narrow(result, continues, 16);
  narrow(result, is_shape, kNarrowest);
  leave_out(result, Rank::Essential);
  narrow(result, names_rows, kNarrowest);
  widen(result, natural);
  for (const Rank rank : {Rank::Essential, Rank::Useful, Rank::Detail}) take_back(result, rank);
  return result;
}

std::vector<std::string> Grid::left_out() const {
  const Layout room = layout();
  std::vector<std::string> titles;
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    if (room.gone[c] && !columns_[c].title.empty()) titles.push_back(columns_[c].title);
  }
  return titles;
}

void Grid::add_line(const Layout& layout, const std::vector<std::string>& cells,
                    std::string& text) const {
  std::vector<std::vector<std::string>> parts(columns_.size());
  std::size_t lines = 1;
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    if (layout.gone[c]) continue;
    parts[c] = continues(columns_[c])
                   ? pieces(cells[c], layout.widths[c])
                   : std::vector<std::string>{shorten(cells[c], layout.widths[c])};
    lines = std::max(lines, parts[c].size());
  }
  for (std::size_t i = 0; i < lines; ++i) {
    std::string line(static_cast<std::size_t>(indent_), ' ');
    bool first = true;
    for (std::size_t c = 0; c < columns_.size(); ++c) {
      if (layout.gone[c]) continue;
      if (!first) line.append(kGap, ' ');
      first = false;
      const std::string cell = i < parts[c].size() ? parts[c][i] : std::string();
      line += columns_[c].right ? fmt::format("{:>{}}", cell, layout.widths[c])
                                : fmt::format("{:<{}}", cell, layout.widths[c]);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
}

std::string Grid::text() const {
  const Layout room = layout();
  std::string text;
  std::vector<std::string> titles;
  for (const GridColumn& column : columns_) titles.push_back(visible(column.title));
  if (std::any_of(titles.begin(), titles.end(), [](const auto& t) { return !t.empty(); }))
    add_line(room, titles, text);
  for (const auto& row : rows_) add_line(room, row, text);
  return text;
}

}  // namespace rooftile::report
