// SPDX-License-Identifier: Apache-2.0
//
// The wire format of protocol buffers, read without a schema: a message is a sequence of numbered
// fields. Bytes come from files nobody vouches for, so every length is checked against what is
// there, and a message that does not add up ends with damaged(). Groups, which no known file has,
// count as damage.
#pragma once

#include <cstdint>
#include <string_view>

namespace rooftile::profile {

enum class WireType : std::uint8_t { Varint = 0, Fixed64 = 1, Bytes = 2, Fixed32 = 5 };

struct WireField {
  std::uint32_t number = 0;
  WireType type = WireType::Varint;
  std::uint64_t value = 0;  ///< of the numeric types, as bits
  std::string_view bytes;   ///< text or a message inside this one

  /// A Fixed64 or Fixed32 as the floating-point number it is, a Varint as a whole number.
  [[nodiscard]] double number_value() const;
};

class WireReader {
 public:
  explicit WireReader(std::string_view message) : rest_(message) {}

  /// The next field; false at the end and where the message is damaged.
  bool next(WireField& field);
  [[nodiscard]] bool damaged() const { return damaged_; }

 private:
  bool varint(std::uint64_t& value);
  bool fixed(std::size_t bytes, std::uint64_t& value);
  bool fail();

  std::string_view rest_;
  bool damaged_ = false;
};

}  // namespace rooftile::profile
