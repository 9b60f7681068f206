// SPDX-License-Identifier: Apache-2.0
//
// The shape of a tensor: up to six sizes, outermost first, stored in place (no allocation). Sizes
// are validated where they enter (checked_elements); after that elements() cannot overflow.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>

namespace rooftile {

class Shape {
 public:
  static constexpr std::size_t kMaxRank = 6;
  /// Tensors beyond this many elements are refused: 2^53 keeps every count exact in a double.
  static constexpr std::int64_t kMaxElements = std::int64_t{1} << 53;

  constexpr Shape() = default;
  /// Takes at most kMaxRank sizes; further ones are multiplied into the last.
  constexpr Shape(std::initializer_list<std::int64_t> sizes)
      : Shape(std::span<const std::int64_t>(sizes.begin(), sizes.size())) {}
  constexpr explicit Shape(std::span<const std::int64_t> sizes) {
    for (const std::int64_t size : sizes) {
      if (rank_ < kMaxRank) {
        sizes_[rank_++] = size;
      } else {
        sizes_[kMaxRank - 1] *= size;
      }
    }
  }

  [[nodiscard]] constexpr std::size_t rank() const { return rank_; }
  [[nodiscard]] constexpr std::int64_t operator[](std::size_t i) const { return sizes_[i]; }
  [[nodiscard]] constexpr std::span<const std::int64_t> sizes() const {
    return {sizes_.data(), rank_};
  }
  /// The innermost size; 1 for a scalar.
  [[nodiscard]] constexpr std::int64_t columns() const {
    return rank_ == 0 ? 1 : sizes_[rank_ - 1];
  }
  /// The product of all sizes but the innermost.
  [[nodiscard]] constexpr std::int64_t rows() const {
    std::int64_t product = 1;
    for (std::size_t i = 0; i + 1 < rank_; ++i) product *= sizes_[i];
    return product;
  }
  [[nodiscard]] constexpr std::int64_t elements() const { return rows() * columns(); }

  constexpr bool operator==(const Shape&) const = default;

 private:
  std::array<std::int64_t, kMaxRank> sizes_{};
  std::size_t rank_ = 0;
};

/// The product of `factors`, or nothing when a factor is negative or zero or the product exceeds
/// Shape::kMaxElements.
constexpr std::optional<std::int64_t> checked_product(std::span<const std::int64_t> factors) {
  std::int64_t product = 1;
  for (const std::int64_t factor : factors) {
    if (factor <= 0 || __builtin_mul_overflow(product, factor, &product) ||
        product > Shape::kMaxElements) {
      return std::nullopt;
    }
  }
  return product;
}
constexpr std::optional<std::int64_t> checked_product(std::initializer_list<std::int64_t> factors) {
  return checked_product(std::span<const std::int64_t>(factors.begin(), factors.size()));
}

/// "4x1024x1280"; "scalar" for rank 0.
std::string to_string(const Shape& shape);

}  // namespace rooftile
