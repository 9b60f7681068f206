// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <string_view>

#include "hardware/ceilings.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  // What has been read can be written, and read again.
  if (const auto ceilings = rooftile::hardware::parse_ceilings(text, "fuzz.json")) {
    const auto again =
        rooftile::hardware::parse_ceilings(rooftile::hardware::to_json(*ceilings), "again.json");
    if (!again) __builtin_trap();
  }
  return 0;
}
