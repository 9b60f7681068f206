// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <string_view>

#include "cost/learned/weights.h"
#include "cost/neusight/neusight.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  (void)rooftile::cost::learned::parse_weights(text, "fuzz.json");
  (void)rooftile::cost::neusight::parse_weights(text, "fuzz.json");
  return 0;
}
