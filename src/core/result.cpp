// SPDX-License-Identifier: Apache-2.0
#include "core/result.h"

#include <algorithm>
#include <string_view>

#include "core/utf8.h"

namespace rooftile {

std::string to_string(const Error& error) {
  std::string text = "error: ";
  if (!error.where.empty()) text += visible(error.where) + ": ";
  text += visible(error.message) + "\n";
  if (error.hint.empty()) return text;
  text += "hint: ";
  // A hint may be a list, one line each.
  for (std::size_t begin = 0; begin <= error.hint.size();) {
    const std::size_t end = std::min(error.hint.find('\n', begin), error.hint.size());
    text += visible(std::string_view(error.hint).substr(begin, end - begin)) + "\n";
    begin = end + 1;
  }
  return text;
}

}  // namespace rooftile
