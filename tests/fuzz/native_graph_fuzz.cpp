// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <string_view>

#include "aggregate/memory.h"
#include "execution/launches.h"
#include "graph/import_model.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  using rooftile::graph::Step;
  for (const Step step : {Step::Infer, Step::Train}) {
    const auto graph =
        rooftile::graph::import_text(text, "fuzz.json", {.step = step, .batch = 3, .sequence = 7});
    if (!graph) continue;
    // What has been imported can be lowered and weighed.
    (void)rooftile::execution::launches(*graph,
                                        rooftile::execution::default_launch_options(*graph));
    (void)rooftile::aggregate::memory(*graph, {});
    (void)rooftile::aggregate::memory(
        *graph, {.optimizer = {}, .activations = {.compiled = true, .recompute = true}});
  }
  return 0;
}
