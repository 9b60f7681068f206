// SPDX-License-Identifier: Apache-2.0
#include "core/shape.h"

namespace rooftile {

std::string to_string(const Shape& shape) {
  if (shape.rank() == 0) return "scalar";
  std::string text;
  for (const std::int64_t size : shape.sizes()) {
    if (!text.empty()) text += 'x';
    text += std::to_string(size);
  }
  return text;
}

}  // namespace rooftile
