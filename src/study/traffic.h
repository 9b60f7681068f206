// SPDX-License-Identifier: Apache-2.0
//
// Bytes per memory level of one convolution or of every kernel of a model's step: the kernels,
// times and limiters of the forecast (study/predict.h), with the bytes that they rest on. `closed`
// are the forms that the forecast takes, `exact` counts the loads of tiled products
// (traffic/sampled.h), `paper` are the published forms (FP32 forward convolutions as implicit
// GEMMs); other bytes than the closed ones do not change the time, but say what they would make of
// it. A tile or an algorithm that is asked for replaces the forecast's own choice.
#pragma once

#include <optional>
#include <string>

#include "core/catalog.h"
#include "core/progress.h"
#include "core/result.h"
#include "ops/kernel_work.h"
#include "report/traffic_view.h"
#include "rooftile/request.h"

namespace rooftile::study {

struct TrafficRequest {
  Request step;                          ///< model (or empty), GPU, phase, batch, dtype
  std::optional<ops::ConvShape> conv;    ///< one layer instead of a model
  std::string traffic_model = "closed";  ///< closed | exact | paper
  std::string order = "column";          ///< column | row | swizzled
  std::string algorithm = "auto";        ///< of convolutions: auto | implicit_gemm | ...
  std::string tile = "auto";             ///< of their implicit GEMM: auto | 128x64 | ...
  bool simulate = false;                 ///< also count with the cache simulator
};

Result<report::TrafficReport> traffic(const TrafficRequest& request, const Catalog& catalog,
                                      const Progress& progress);

}  // namespace rooftile::study
