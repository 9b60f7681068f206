// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "execution/launches.h"
#include "graph/family/family.h"
#include "graph/import_model.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace rooftile::graph;
  static const rooftile::Catalog kCatalog = rooftile::Catalog::embedded();
  static Families families(kCatalog);  // files that are built in are read once
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  for (const Step step : {Step::Train, Step::Decode}) {
    ImportOptions options;
    options.step = step;
    options.batch = 3;
    options.sequence = 16;
    options.attention = step == Step::Train ? AttentionKind::Eager : AttentionKind::Flash;
    const auto graph = import_text(text, "fuzz.json", options, families);
    if (!graph) {
      if (graph.error().message.empty()) std::abort();  // every refusal says why
      continue;
    }
    if (graph->parameters < 0) std::abort();
    for (const rooftile::execution::Launch& kernel : rooftile::execution::launches(
             *graph, rooftile::execution::default_launch_options(*graph))) {
      if (kernel.count < 1 || !(kernel.work.flops.base() >= 0.0)) std::abort();
      if (!(kernel.work.bytes().base() > 0.0)) std::abort();
    }
  }
  return 0;
}
