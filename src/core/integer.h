// SPDX-License-Identifier: Apache-2.0
//
// Integer arithmetic that every layer needs.
#pragma once

#include <cstdint>

namespace rooftile {

/// How many parts of size `part` cover `whole`, which is not negative.
constexpr std::int64_t ceil_div(std::int64_t whole, std::int64_t part) {
  return (whole + part - 1) / part;
}

/// A count as a number of formulas: exact up to 2^53.
constexpr double real(std::int64_t value) {
  return static_cast<double>(value);
}

}  // namespace rooftile
