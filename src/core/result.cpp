// SPDX-License-Identifier: Apache-2.0
#include "core/result.h"

namespace rooftile {

std::string to_string(const Error& error) {
  std::string text = "error: ";
  if (!error.where.empty()) text += error.where + ": ";
  text += error.message + "\n";
  if (!error.hint.empty()) text += "hint: " + error.hint + "\n";
  return text;
}

}  // namespace rooftile
