// SPDX-License-Identifier: Apache-2.0
//
// Files of software stacks, and of what they cost: what loads is written and read again.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "cost/stack_costs.h"
#include "execution/stack.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  (void)rooftile::execution::parse_stack(text, "fuzz.json");
  const auto costs = rooftile::cost::parse_stack_costs(text, "fuzz.json");
  if (costs && !rooftile::cost::parse_stack_costs(rooftile::cost::to_json(*costs), "again.json"))
    std::abort();
  return 0;
}
