// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <string_view>

#include "hardware/system.h"

// A system file that loads has a link for some number of GPUs, or says why not.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto system = rooftile::hardware::parse_system(text, "fuzz.json")) {
    for (const std::int64_t gpus : {2, 8, 1024}) {
      (void)rooftile::hardware::link_of(*system,
                                        {.size = gpus, .stride = 1, .stage = gpus, .total = gpus});
    }
  }
  return 0;
}
