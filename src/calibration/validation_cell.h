// SPDX-License-Identifier: Apache-2.0
//
// A cell of a table that people read, with the numbers that it shows: nobody has to read them back
// from the text.
#pragma once

#include <concepts>
#include <string>
#include <utility>
#include <vector>

namespace rooftile::calibration {

struct ValidationCell {
  std::string text;
  std::vector<double> numbers = {};  ///< in the order in which they are shown; none: a word

  ValidationCell(std::string word) : text(std::move(word)) {}
  ValidationCell(const char* word) : text(word) {}
  ValidationCell(std::string shown, std::vector<double> values)
      : text(std::move(shown)), numbers(std::move(values)) {}
  static ValidationCell count(std::integral auto value) {
    return {std::to_string(value), {static_cast<double>(value)}};
  }
};

}  // namespace rooftile::calibration
