// SPDX-License-Identifier: Apache-2.0
#include "profile/wire.h"

#include <bit>

namespace rooftile::profile {

double WireField::number_value() const {
  switch (type) {
    case WireType::Fixed64: return std::bit_cast<double>(value);
    case WireType::Fixed32:
      return static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(value)));
    case WireType::Varint: return static_cast<double>(value);
    case WireType::Bytes: break;
  }
  return 0.0;
}

bool WireReader::fail() {
  damaged_ = true;
  rest_ = {};
  return false;
}

bool WireReader::varint(std::uint64_t& value) {
  constexpr unsigned kBits = 64;
  value = 0;
  for (unsigned shift = 0; shift < kBits && !rest_.empty(); shift += 7) {
    const auto byte = static_cast<unsigned char>(rest_.front());
    rest_.remove_prefix(1);
    value |= static_cast<std::uint64_t>(byte & 0x7fU) << shift;
    if ((byte & 0x80U) == 0) return true;
  }
  return false;
}

bool WireReader::fixed(std::size_t bytes, std::uint64_t& value) {
  if (rest_.size() < bytes) return false;
  value = 0;
  for (std::size_t i = 0; i < bytes; ++i) {
    value |= static_cast<std::uint64_t>(static_cast<unsigned char>(rest_[i])) << (8 * i);
  }
  rest_.remove_prefix(bytes);
  return true;
}

bool WireReader::next(WireField& field) {
  if (rest_.empty()) return false;
  std::uint64_t key = 0;
  if (!varint(key) || key >> 3 == 0 || key >> 3 > (1U << 29) - 1) return fail();
  field.number = static_cast<std::uint32_t>(key >> 3);
  field.type = static_cast<WireType>(key & 7U);
  field.value = 0;
  field.bytes = {};
  switch (field.type) {
    case WireType::Varint: return varint(field.value) || fail();
    case WireType::Fixed64: return fixed(8, field.value) || fail();
    case WireType::Fixed32: return fixed(4, field.value) || fail();
    case WireType::Bytes: {
      std::uint64_t size = 0;
      if (!varint(size) || size > rest_.size()) return fail();
      field.bytes = rest_.substr(0, size);
      rest_.remove_prefix(size);
      return true;
    }
  }
  return fail();
}

}  // namespace rooftile::profile
