// SPDX-License-Identifier: Apache-2.0
//
// What-if on the machine: one layer or a step on a GPU whose resources are multiplied.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/catalog.h"
#include "core/progress.h"
#include "core/result.h"
#include "ops/kernel_work.h"
#include "report/scale_view.h"
#include "rooftile/request.h"

namespace rooftile::study {

struct ScaleRequest {
  Request step;                         ///< model, GPU, phase, batch, dtype
  std::optional<ops::ConvShape> conv;   ///< one layer instead of a model
  std::vector<std::string> set;         ///< "dram_bw=2": all of them together are one variant
  std::vector<std::string> cost;        ///< "dram_bw=0.4": weights of the cost model
  bool study = false;                   ///< each resource x2 and x4, and the cheapest balanced sets
  std::optional<std::string> optimize;  ///< "target=2x"
};

/// With `study` and no model: alexnet, vgg16, googlenet and resnet152 in inference and training.
Result<report::ScaleReport> scale(const ScaleRequest& request, const Catalog& catalog,
                                  const Progress& progress);

}  // namespace rooftile::study
