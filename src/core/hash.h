// SPDX-License-Identifier: Apache-2.0
//
// FNV-1a, 64 bits: tells data sets, files and formats apart by a short name. Not for security.
#pragma once

#include <bit>
#include <concepts>
#include <cstdint>
#include <string_view>

namespace rooftile {

class Fnv1a {
 public:
  /// The length goes in as well: "ab", "c" differs from "a", "bc".
  void add(std::string_view text) {
    add_bytes(text);
    add(static_cast<std::uint64_t>(text.size()));
  }
  void add(std::integral auto value) { add_word(static_cast<std::uint64_t>(value)); }
  void add(double value) { add_word(std::bit_cast<std::uint64_t>(value)); }
  /// The bytes as they are.
  void add_bytes(std::string_view text) {
    for (const char c : text) mix(static_cast<unsigned char>(c));
  }
  [[nodiscard]] std::uint64_t value() const { return hash_; }

 private:
  void add_word(std::uint64_t word) {
    for (int shift = 0; shift < 64; shift += 8) mix((word >> shift) & 0xff);
  }
  void mix(std::uint64_t byte) { hash_ = (hash_ ^ byte) * 1099511628211ULL; }
  std::uint64_t hash_ = 14695981039346656037ULL;
};

}  // namespace rooftile
