// SPDX-License-Identifier: Apache-2.0
//
// Code points to UTF-8, for readers of formats that write UTF-16 or escapes of it.
#pragma once

#include <cstdint>
#include <string>

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

/// What is no code point, a lone half for instance, becomes U+FFFD: the text stays valid UTF-8.
void append_utf8(std::uint32_t code, std::string& out);

}  // namespace rooftile
