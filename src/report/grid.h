// SPDX-License-Identifier: Apache-2.0
//
// A table of finished cells laid out for a terminal of a given width. No line is wider than that:
//
//   1. the names of the rows, and cells that may, continue on a further line,
//   2. columns are left out, the least important and rightmost first; those for which there is room
//      when that is done come back,
//   3. names narrow further, shapes are shortened in the middle.
//
// A name is never cut. Whoever shows the table says which columns had no room (left_out()).
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "report/document.h"

namespace rooftile::report {

struct GridColumn {
  std::string title;
  bool right = false;
  Rank rank = Rank::Essential;
  Form form = Form::Plain;
};

class Grid {
 public:
  Grid(std::vector<GridColumn> columns, int width, int indent)
      : columns_(std::move(columns)), width_(width), indent_(indent) {}
  void add(std::vector<std::string> cells);
  /// Lines that end in '\n'.
  [[nodiscard]] std::string text() const;
  /// Titles of the columns for which there is no room.
  [[nodiscard]] std::vector<std::string> left_out() const;

 private:
  struct Layout {
    std::vector<std::size_t> widths;
    std::vector<bool> gone;
  };
  [[nodiscard]] Layout layout() const;
  [[nodiscard]] std::size_t total(const Layout& layout) const;
  void leave_out(Layout& layout, Rank rank) const;
  void take_back(Layout& layout, Rank rank) const;
  void narrow(Layout& layout, bool (*which)(const GridColumn&), std::size_t least) const;
  void widen(Layout& layout, const std::vector<std::size_t>& natural) const;
  void add_line(const Layout& layout, const std::vector<std::string>& cells,
                std::string& text) const;

  std::vector<GridColumn> columns_;
  std::vector<std::vector<std::string>> rows_;
  int width_, indent_;
};

}  // namespace rooftile::report
