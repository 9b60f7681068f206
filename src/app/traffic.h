// SPDX-License-Identifier: Apache-2.0
//
// Bytes per memory level of one convolution or of every kernel of a model's step. A convolution's
// bytes, tile and time are those of its implicit GEMM, of a depthwise layer those of a direct
// kernel; the algorithm that a library would take is named beside. `exact` counts
// (traffic/sampled.h), `closed` takes the forms that predictions use, `paper` the published ones
// (FP32 forward convolutions).
#pragma once

#include <optional>
#include <string>

#include "core/catalog.h"
#include "core/progress.h"
#include "core/result.h"
#include "ops/kernel_work.h"
#include "report/traffic_view.h"
#include "rooftile/request.h"

namespace rooftile::app {

struct TrafficRequest {
  Request step;                         ///< model (or empty), GPU, phase, batch, dtype
  std::optional<ops::ConvShape> conv;   ///< one layer instead of a model
  std::string traffic_model = "exact";  ///< exact | closed | paper
  std::string order = "column";         ///< column | row | swizzled
  std::string tile = "auto";            ///< auto | 128x64 | ...
  bool simulate = false;                ///< also count with the cache simulator
};

Result<report::TrafficReport> traffic(const TrafficRequest& request, const Catalog& catalog,
                                      const Progress& progress);

}  // namespace rooftile::app
