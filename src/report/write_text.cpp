// SPDX-License-Identifier: Apache-2.0
//
// A document for a terminal: no line is wider than it, tables use all of it, prose does not go
// beyond what reads well.
#include <fmt/format.h>

#include <algorithm>

#include "core/utf8.h"
#include "report/cells.h"
#include "report/grid.h"
#include "report/lines.h"
#include "report/provenance_view.h"
#include "report/roofline_plot.h"
#include "report/writer.h"

namespace rooftile::report {

namespace {

constexpr int kWidestProse = 100;

struct Page {
  const Document& document;
  const WriteOptions& options;
  [[nodiscard]] int prose() const { return std::min(options.width, kWidestProse); }
};

std::string heading(const Page& page, const std::string& title) {
  return title.empty() ? "" : wrapped(title, page.prose(), 0, 2);
}

std::string section_text(const Page& page, const Facts& facts) {
  std::size_t widest = 0;
  for (const Fact& fact : facts.rows) widest = std::max(widest, utf8_count(visible(fact.name)));
  const int indent = facts.title.empty() ? 0 : 2;
  std::string text = heading(page, facts.title);
  for (const Fact& fact : facts.rows) {
    const std::string lead = fmt::format("{:<{}}", visible(fact.name), widest) + "  ";
    const int column = indent + static_cast<int>(widest) + 2;
    std::string lines = wrapped(fact.text, page.prose(), column, column);
    if (lines.empty()) lines = std::string(static_cast<std::size_t>(column), ' ') + "\n";
    text += lines.replace(static_cast<std::size_t>(indent), lead.size(), lead);
  }
  return text;
}

std::string section_text(const Page& page, const Table& table) {
  if (!table.shown) return "";
  const Cells cells = cells_of(page.document, table, true);
  if (cells.rows.empty()) return "";
  std::vector<GridColumn> columns;
  for (const Column* column : cells.columns) {
    columns.push_back({.title = column->form == Form::Bar ? std::string() : column->title,
                       .right = is_numeric(*column) && column->form != Form::Bar,
                       .rank = column->rank,
                       .form = column->form});
  }
  Grid grid(std::move(columns), page.options.width, table.indent);
  for (const auto& row : cells.rows) grid.add(row);
  std::string text = heading(page, table.title) + grid.text();
  if (const auto absent = grid.left_out(); !absent.empty()) {
    std::string note = wrapped(fmt::format("no room for: {}; a wider terminal or --format {} shows "
                                           "{}",
                                           fmt::join(absent, ", "), table.data ? "csv" : "json",
                                           absent.size() == 1 ? "it" : "them"),
                               page.prose(), table.indent);
    note.pop_back();
    text += dim(note, page.options.color) + "\n";
  }
  return text;
}

std::string section_text(const Page& page, const Note& note) {
  std::string text = heading(page, note.title);
  const int indent = note.title.empty() ? 0 : 2;
  for (const std::string& line : note.lines) {
    if (note.list) {
      std::string item = wrapped(line, page.prose(), indent + 2);
      if (item.size() > static_cast<std::size_t>(indent))
        item[static_cast<std::size_t>(indent)] = '-';
      text += item;
    } else {
      text += wrapped(line, page.prose(), indent, indent + 2);
    }
  }
  return text;
}

std::string section_text(const Page& page, const Figure& chart) {
  const auto* roofs = std::get_if<RooflineChart>(&chart);
  if (roofs == nullptr || roofs->view != RooflineView::Hierarchical) return "";
  return roofline_plot(*roofs->chart, page.options.width);
}

std::string write_text(const Document& document, const WriteOptions& options) {
  const Page page{.document = document, .options = options};
  std::string title = wrapped(document.title, page.prose(), 0, 2);
  if (!title.empty()) title.pop_back();
  std::string text = bold_lines(title, options.color) + "\n";
  if (!document.subtitle.empty()) text += wrapped(document.subtitle, page.prose(), 0, 2);
  for (const Section& section : document.sections) {
    const std::string part =
        std::visit([&](const auto& one) { return section_text(page, one); }, section);
    if (!part.empty()) text += "\n" + part;
  }
  if (!document.warnings.empty()) text += "\n";
  for (const std::string& line : folded(document.warnings))
    text += labelled(document.warning_label, line, page.prose(), options.color);
  if (document.provenance)
    text += "\n" + provenance_to_text(*document.provenance, options.width, options.color);
  return text;
}

}  // namespace

Writer text_writer() {
  return {.name = "text", .endings = {".txt"}, .lines = true, .make = write_text};
}

}  // namespace rooftile::report
