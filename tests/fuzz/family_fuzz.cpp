// SPDX-License-Identifier: Apache-2.0
//
// A user's own family file, and a configuration that uses it: whatever both say, there is a graph
// or a reason. The input is the family's file.
#include <cstdint>
#include <cstdlib>
#include <string>

#include "catalogue.h"
#include "graph/family/family.h"
#include "graph/import_model.h"
#include "memory_file.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace rooftile;
  Catalog catalog = fuzz::small_catalogue();
  catalog.add("families/own.json", std::string(reinterpret_cast<const char*>(data), size));
  catalog.add("models/own.json", R"({"model_type": "own", "hidden_size": 64, "vocab_size": 100,
      "num_hidden_layers": 3, "num_attention_heads": 4, "intermediate_size": 96,
      "layer_types": ["full_attention", "sliding_attention", "full_attention"],
      "sliding_window": 8})");
  const auto family = graph::Family::load(catalog, "own");
  if (fuzz::explained(family)) (void)fuzz::explained(family->lint());
  for (const graph::Step step : {graph::Step::Train, graph::Step::Decode}) {
    graph::ImportOptions options;
    options.step = step;
    options.batch = 3;
    options.sequence = 16;
    const auto graph = graph::import_model(catalog, "own", options);
    if (fuzz::explained(graph) && graph->parameters < 0) std::abort();
  }
  return 0;
}
