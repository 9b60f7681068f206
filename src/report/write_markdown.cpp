// SPDX-License-Identifier: Apache-2.0
//
// A document as a Markdown page: every column that people see, as wide as it is.
#include <fmt/format.h>

#include "core/utf8.h"
#include "report/cells.h"
#include "report/provenance_view.h"
#include "report/writer.h"

namespace rooftile::report {

namespace {

/// On one line; what would be markup in a table or a paragraph is escaped.
std::string markdown_escaped(std::string_view text) {
  std::string out;
  for (const char c : visible(text)) {
    if (c == '|' || c == '\\' || c == '`' || c == '*' || c == '[' || c == ']') out += '\\';
    if (c == '<') {
      out += "&lt;";
    } else {
      out += c;
    }
  }
  return out;
}

std::string markdown_heading(const std::string& title) {
  return title.empty() ? "" : fmt::format("## {}\n\n", markdown_escaped(title));
}

std::string section_markdown(const Document& /*document*/, const Facts& facts) {
  std::string text = markdown_heading(facts.title);
  for (const Fact& fact : facts.rows)
    text += fmt::format("- **{}**: {}\n", markdown_escaped(fact.name), markdown_escaped(fact.text));
  return text;
}

std::string section_markdown(const Document& document, const Table& table) {
  if (!table.shown) return "";
  const Cells cells = cells_of(document, table, false);
  if (cells.rows.empty()) return "";
  std::string text = markdown_heading(table.title), rule = "|";
  text += "|";
  for (const Column* column : cells.columns) {
    text += fmt::format(" {} |", markdown_escaped(column->title));
    rule += is_numeric(*column) ? "---:|" : "---|";
  }
  text += "\n" + rule + "\n";
  for (const auto& row : cells.rows) {
    text += "|";
    for (const std::string& cell : row) text += fmt::format(" {} |", markdown_escaped(cell));
    text += "\n";
  }
  return text;
}

std::string section_markdown(const Document& /*document*/, const Note& note) {
  std::string text = markdown_heading(note.title);
  for (const std::string& line : note.lines)
    text += fmt::format("{}{}\n", note.list ? "- " : "", markdown_escaped(line));
  return text;
}

std::string section_markdown(const Document& /*document*/, const Figure& /*chart*/) {
  return "";
}

std::string write_markdown(const Document& document, const WriteOptions& /*options*/) {
  std::string text = fmt::format("# {}\n", markdown_escaped(document.title));
  if (!document.subtitle.empty())
    text += fmt::format("\n{}\n", markdown_escaped(document.subtitle));
  for (const Section& section : document.sections) {
    const std::string part =
        std::visit([&](const auto& one) { return section_markdown(document, one); }, section);
    if (!part.empty()) text += "\n" + part;
  }
  if (!document.warnings.empty()) text += "\n";
  for (const std::string& line : folded(document.warnings))
    text += fmt::format("- **{}**: {}\n", document.warning_label, markdown_escaped(line));
  if (document.provenance) text += "\n" + provenance_to_line(*document.provenance);
  return text;
}

}  // namespace

Writer markdown_writer() {
  return {.name = "markdown", .endings = {".md"}, .lines = true, .make = write_markdown};
}

}  // namespace rooftile::report
