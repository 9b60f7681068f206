// SPDX-License-Identifier: Apache-2.0
#include "core/utf8.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

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

std::size_t utf8_length(std::string_view text, std::size_t at) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(at);
  std::size_t length = 0;
  if (first < 0x80) return 1;
  if (first >= 0xc2 && first < 0xe0) length = 2;
  if (first >= 0xe0 && first < 0xf0) length = 3;
  if (first >= 0xf0 && first < 0xf5) length = 4;
  if (length == 0 || at + length > text.size()) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(at + i) & 0xc0) != 0x80) return 0;
  }
  const unsigned char second = byte(at + 1);
  // Overlong forms, surrogates, beyond U+10FFFF.
  if ((first == 0xe0 && second < 0xa0) || (first == 0xed && second >= 0xa0) ||
      (first == 0xf0 && second < 0x90) || (first == 0xf4 && second >= 0x90)) {
    return 0;
  }
  return length;
}

namespace {

/// Of a valid sequence.
std::uint32_t code_point(std::string_view sequence) {
  const auto byte = [&](std::size_t i) {
    return static_cast<std::uint32_t>(static_cast<unsigned char>(sequence[i]));
  };
  if (sequence.size() == 1) return byte(0);
  std::uint32_t code = byte(0) & (0x7FU >> sequence.size());
  for (std::size_t i = 1; i < sequence.size(); ++i) code = code << 6 | (byte(i) & 0x3F);
  return code;
}

std::size_t step(std::string_view text, std::size_t at) {
  const std::size_t length = utf8_length(text, at);
  return length == 0 ? 1 : length;
}

}  // namespace

std::size_t utf8_count(std::string_view text) {
  std::size_t count = 0;
  for (std::size_t at = 0; at < text.size(); at += step(text, at)) ++count;
  return count;
}

std::size_t utf8_offset(std::string_view text, std::size_t index) {
  std::size_t at = 0;
  for (; index > 0 && at < text.size(); --index) at += step(text, at);
  return at;
}

bool is_control(std::uint32_t code) {
  const auto in = [code](std::uint32_t low, std::uint32_t high) {
    return code >= low && code <= high;
  };
  return code < 0x20 || in(0x7F, 0x9F) || code == 0x061C || in(0x200E, 0x200F) ||
         in(0x2028, 0x202E) || in(0x2066, 0x2069) || code == 0xFEFF || in(0xFFF9, 0xFFFB) ||
         in(0xFFFE, 0xFFFF) || in(0xE0000, 0xE007F);
}

std::string visible(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    const auto byte = static_cast<unsigned char>(text[at]);
    const std::size_t length = utf8_length(text, at);
    if (length == 0) {
      out += fmt::format("\\x{:02x}", byte);
      ++at;
      continue;
    }
    const std::uint32_t code = code_point(text.substr(at, length));
    if (!is_control(code)) {
      out += text.substr(at, length);
    } else if (code < 0x80) {
      out += fmt::format("\\x{:02x}", code);
    } else {
      out += fmt::format("\\u{:04x}", code);
    }
    at += length;
  }
  return out;
}

std::string json_string(std::string_view text) {
  return nlohmann::json(text).dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
}

}  // namespace rooftile
