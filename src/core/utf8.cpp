// SPDX-License-Identifier: Apache-2.0
#include "core/utf8.h"

namespace rooftile {

void append_utf8(std::uint32_t code, std::string& out) {
  constexpr std::uint32_t kReplacement = 0xFFFD, kLast = 0x10FFFF;
  if (is_high_surrogate(code) || is_low_surrogate(code) || code > kLast) code = kReplacement;
  const auto put = [&out](std::uint32_t byte) { out.push_back(static_cast<char>(byte)); };
  if (code < 0x80) {
    put(code);
  } else if (code < 0x800) {
    put(0xC0 | (code >> 6));
    put(0x80 | (code & 0x3F));
  } else if (code < 0x10000) {
    put(0xE0 | (code >> 12));
    put(0x80 | ((code >> 6) & 0x3F));
    put(0x80 | (code & 0x3F));
  } else {
    put(0xF0 | (code >> 18));
    put(0x80 | ((code >> 12) & 0x3F));
    put(0x80 | ((code >> 6) & 0x3F));
    put(0x80 | (code & 0x3F));
  }
}

}  // namespace rooftile
