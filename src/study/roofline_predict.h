// SPDX-License-Identifier: Apache-2.0
//
// Predictions next to measured kernels, for those whose shapes are known, launch by launch:
//   by model   the operator of --model that a launch is (study/model_match.h)
//   by trace   the work of the operator that asked for it (Kineto with record_shapes=True), for the
//              launches whose operator is known, whatever their kernel is called
//   by name    a GEMM that names its tile ("..gemm_fp16_128x64_..") and whose grid and FLOPs were
//              measured: m n batch = tile times grid, k = FLOPs / (2 m n batch). The shape is the
//              padded one, and a split of k looks like a batch. A k more than 0.75 from a multiple
//              of 8 means that another kernel family counts its grid otherwise: no shape.
//              A grid in one dimension does not tell how the tiles lie: no shape.
// A kernel that serves several shapes is predicted when the shape of every launch is known, as the
// sum over its launches. Why the others have no prediction is counted in a warning.
#pragma once

#include <optional>
#include <vector>

#include "core/result.h"
#include "hardware/machine.h"
#include "ops/kernel_work.h"
#include "profile/kernel_record.h"
#include "roofline/chart.h"
#include "rooftile/request.h"
#include "study/session.h"

namespace rooftile::study {

struct PredictKernels {
  std::optional<hardware::Machine> machine;  ///< without one nothing is predicted, with a warning
  Request step;                              ///< `model` empty: by name only
};

/// Fills Point::predicted; adds the warnings `predict-no-gpu` and `predict-no-shapes`. Gives the
/// files of the predictor and the model.
Result<std::vector<Input>> predict_kernels(const PredictKernels& request, const Session& session,
                                           roofline::Chart& chart);

/// The product that a kernel's name, grid and FLOPs speak of, for launches that are alike.
std::optional<ops::GemmShape> gemm_shape_of(const profile::KernelRecord& record);

/// What launches that are alike compute, by the operator that a trace shows or by tile, grid and
/// FLOPs; nothing where neither tells it.
std::optional<ops::KernelWork> launched_work(const profile::KernelRecord& group);

}  // namespace rooftile::study
