// SPDX-License-Identifier: Apache-2.0
//
// A user's own file in the catalogue: whatever it claims (the name of another GPU, of a model),
// every name is found or refused with a reason.
#include <cstdint>
#include <cstdlib>
#include <string>

#include "catalogue.h"
#include "graph/import_model.h"
#include "hardware/machine.h"
#include "hardware/system.h"
#include "memory_file.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace rooftile;
  if (size == 0) return 0;
  const std::string content(reinterpret_cast<const char*>(data) + 1, size - 1);
  Catalog catalog = fuzz::small_catalogue();
  constexpr const char* kPlaces[] = {"gpus/own.json", "gpus/nvidia_tesla_p4_8gb.json",
                                     "models/own.json", "systems/own.json"};
  catalog.add(kPlaces[data[0] % 4], content);
  switch (data[0] % 4) {
    case 0:
    case 1: {
      const auto machine =
          hardware::load_machine(catalog, data[0] % 4 == 0 ? "own" : "p4", std::nullopt);
      if (fuzz::explained(machine) && machine->gpu.sm.count < 1) std::abort();
      break;
    }
    case 2: {
      graph::ImportOptions options;
      options.sequence = 16;
      const auto graph = graph::import_model(catalog, "own", options);
      if (fuzz::explained(graph) && graph->parameters < 0) std::abort();
      break;
    }
    default: (void)fuzz::explained(hardware::load_system(catalog, "own"));
  }
  return 0;
}
