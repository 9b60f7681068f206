// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "hardware/architecture.h"
#include "hardware/lint.h"
#include "hardware/memory_type.h"

// An architecture that loads can be linted; a memory type is a range of positive numbers.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto arch = rooftile::hardware::parse_architecture(text, "fuzz.json")) {
    (void)rooftile::hardware::lint(*arch);
    if (arch->memory.sector > arch->memory.line || arch->sm.schedulers < 1) std::abort();
  }
  if (const auto type = rooftile::hardware::parse_memory_type(text, "fuzz.json")) {
    if (!(type->least_gbit > 0 && type->least_gbit <= type->most_gbit)) std::abort();
  }
  return 0;
}
