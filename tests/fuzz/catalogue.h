// SPDX-License-Identifier: Apache-2.0
//
// A catalogue of a few GPUs and one model, and the default predictor: looking a name up in it costs
// a fraction of what it costs in the whole one, and the reader under test gets the time.
#pragma once

#include <string>

#include "core/catalog.h"
#include "cost/predictor.h"

namespace rooftile::fuzz {

inline const Catalog& small_catalogue() {
  static const Catalog kSmall = [] {
    const Catalog all = Catalog::embedded();
    Catalog few;
    for (const char* name :
         {"gpus/nvidia_tesla_v100_pcie_32gb.json", "gpus/nvidia_tesla_p4_8gb.json",
          "gpus/nvidia_tesla_p100_pcie_16gb.json", "gpus/amd_instinct_mi210_64gb.json",
          "models/gpt2.json", "families/gpt2.json", "families/decoder.json", "families/llama.json",
          "architectures/7.0.json", "architectures/6.1.json", "architectures/6.0.json",
          "architectures/gfx90a.json", "memory_types/HBM2.json", "memory_types/HBM2e.json",
          "memory_types/GDDR5.json", "stacks/eager.json", "stacks/compile.json",
          "stacks/serving.json", "predictors/default/stacks.json"}) {
      few.add(name, all.read(name).value().content);
    }
    return few;
  }();
  return kSmall;
}

/// The whole one: exports name any device.
inline const Catalog& architectures() {
  static const Catalog kAll = Catalog::embedded();
  return kAll;
}

inline const cost::Predictor& default_predictor() {
  static const auto kDefault = cost::make_predictor({}, Catalog::embedded()).value();
  return *kDefault;
}

}  // namespace rooftile::fuzz
