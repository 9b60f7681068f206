// SPDX-License-Identifier: Apache-2.0
//
// Lines for terminals: wrapped, shortened, styled; numbers and names for people. Names and paths
// come from files: shortened and wrapped text is made visible() here, so that none of them breaks a
// line or reaches the terminal as a control; safe_lines() is the last door.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace rooftile::report {

/// "######    " of `width` columns for a fraction in [0, 1].
std::string bar(double fraction, int width);

/// Cuts the middle of a long name: "transformer..c_attn".
std::string shorten(std::string_view text, std::size_t width);
/// `text` in pieces of at most `width` columns, broken behind punctuation where there is some.
std::vector<std::string> pieces(std::string_view text, std::size_t width);

/// `text` in lines of at most `width` columns, broken at spaces and after commas; what is longer (a
/// path) is broken where it must. The first line is indented by `first`.
std::string wrapped(std::string_view text, int width, int first, int indent);
inline std::string wrapped(std::string_view text, int width, int indent) {
  return wrapped(text, width, indent, indent);
}

/// "warning: text" or another label, on as many lines as it takes; continued ones are indented.
std::string labelled(std::string_view label, std::string_view text, int width, bool color);

/// ANSI styles; plain text when `on` is false.
std::string bold(std::string_view text, bool on);
/// The same for lines that are visible() already.
std::string bold_lines(std::string_view lines, bool on);
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

/// Per second, without powers of ten: "412.3", "100800".
std::string per_second(double rate);

/// "15300 tokens/s, 1912 per GPU"; one GPU is not told apart.
std::string throughput(double rate, std::string_view what, std::int64_t gpus);

}  // namespace rooftile::report
