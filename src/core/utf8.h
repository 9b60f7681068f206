// SPDX-License-Identifier: Apache-2.0
//
// UTF-8: code points for readers of formats that write UTF-16 or escapes of it, and foreign text
// (names, paths, contents of files) made harmless for terminals and documents.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace rooftile {

constexpr bool is_high_surrogate(std::uint32_t unit) {
  return unit >= 0xD800 && unit < 0xDC00;
}
constexpr bool is_low_surrogate(std::uint32_t unit) {
  return unit >= 0xDC00 && unit < 0xE000;
}

/// The code point that two halves of UTF-16 stand for.
constexpr std::uint32_t join_surrogates(std::uint32_t high, std::uint32_t low) {
  return 0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00);
}

/// What is not a code point, a lone half for instance, becomes U+FFFD: the text stays valid UTF-8.
void append_utf8(std::uint32_t code, std::string& out);

/// Bytes of the sequence that starts at `at`, or 0 when it is not valid UTF-8.
std::size_t utf8_length(std::string_view text, std::size_t at);

/// Number of code points; a byte that is not part of one counts as one.
std::size_t utf8_count(std::string_view text);
/// Place of the code point with this index, at most the size of the text.
std::size_t utf8_offset(std::string_view text, std::size_t index);

/// Does something where it is shown instead of being seen: C0, DEL and C1 controls, line and
/// paragraph separators, marks that turn the direction of text, tags, byte-order mark.
bool is_control(std::uint32_t code);

/// Foreign text as one line that may be shown: controls and bytes that are not UTF-8 become "\x1b",
/// "\u202e". Text without them stays as it is, so doing it twice changes nothing.
std::string visible(std::string_view text);

/// A JSON string with its quotes, in ASCII.
std::string json_string(std::string_view text);

}  // namespace rooftile
