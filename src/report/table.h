// SPDX-License-Identifier: Apache-2.0
//
// Aligned text tables and bars for terminals. Names and paths come from files: cells, shortened and
// wrapped text are made visible() here, so that none of them breaks a line or reaches the terminal
// as a control; safe_lines() is the last door.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace rooftile::report {

enum class Align : std::uint8_t { Left, Right };

struct Column {
  std::string title;
  Align align = Align::Left;
  bool shrink = false;    ///< give way (cut with "..") when the table is too wide
  bool optional = false;  ///< left out when the table is too wide, the rightmost first
  bool path = false;      ///< parts of a name give way first: "layers/attn.q_proj", "q_proj"
};

class Table {
 public:
  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}
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

  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

/// "######    " of `width` columns for a fraction in [0, 1].
std::string bar(double fraction, int width);

/// Cuts the middle of a long name: "transformer..c_attn".
std::string shorten(std::string_view text, std::size_t width);
/// A long name loses leading parts as far as needed ("layers/attn.q_proj", "attn.q_proj",
/// "q_proj"), then its middle.
std::string shorten_path(std::string_view text, std::size_t width);

/// `text` in lines of at most `width` columns, broken at spaces and after commas; what is longer (a
/// path, a command) stays in one piece, to be copied. The first line is indented by `first`.
std::string wrapped(std::string_view text, int width, int first, int indent);
inline std::string wrapped(std::string_view text, int width, int indent) {
  return wrapped(text, width, indent, indent);
}

/// "warning: text" or another label, on as many lines as it takes; continued ones are indented.
std::string labelled(std::string_view label, std::string_view text, int width, bool color);

/// ANSI styles; plain text when `on` is false.
std::string bold(std::string_view text, bool on);
std::string dim(std::string_view text, bool on);
std::string yellow(std::string_view text, bool on);

/// 1234.5 -> "1234.5 ms"; picks us, ms or s so that 3 to 4 digits are shown.
std::string format_ms(double ms);

/// "fwd", "bwd", "acc", "opt"; "dgrad" and "wgrad" stay.
std::string_view short_phase(std::string_view phase);

/// Finished text for a terminal: lines and the styles above stay, any other control is made
/// visible.
std::string safe_lines(std::string_view text);

/// RFC 4180: quotes a field when it needs it. Controls are made visible(); an apostrophe goes
/// before what a spreadsheet would take for a formula ("=...", "+...", "-...", "@...") unless it is
/// a number.
std::string csv_field(std::string_view text);

}  // namespace rooftile::report
