// SPDX-License-Identifier: Apache-2.0
//
// Predictions beside measured kernels, for those whose shapes are known:
//   by name    a GEMM that names its tile ("..gemm_fp16_128x64_..") and whose grid and FLOPs were
//              measured: m n batch = tile times grid, k = FLOPs / (2 m n batch). The shape is the
//              padded one. A k more than 0.75 from a multiple of 8 means that the launches
//              differ, or that another kernel family counts its grid otherwise: no shape.
//              A grid in one dimension does not tell how the tiles lie: no shape.
//   by model   an operator of the step with as many launches and, within 5 %, the same FLOPs, when
//              exactly one operator fits.
// Exports keep one record per kernel name, so a name that serves several shapes has none.
#pragma once

#include <optional>

#include "core/catalog.h"
#include "core/result.h"
#include "hardware/machine.h"
#include "ops/kernel_work.h"
#include "profile/kernel_record.h"
#include "roofline/chart.h"
#include "rooftile/request.h"

namespace rooftile::app {

struct PredictKernels {
  std::optional<hardware::Machine> machine;  ///< without one nothing is predicted, with a warning
  Request step;                              ///< `model` empty: by name only
};

/// Fills Point::predicted; adds the warnings `predict-no-gpu` and `predict-no-shapes`.
Status predict_kernels(const PredictKernels& request, const Catalog& catalog,
                       roofline::Chart& chart);

/// The product that a kernel's name, grid and FLOPs speak of; see above.
std::optional<ops::GemmShape> gemm_shape_of(const profile::KernelRecord& record);

}  // namespace rooftile::app
