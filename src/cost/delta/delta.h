// SPDX-License-Identifier: Apache-2.0
//
// Predictor `delta`, a baseline: every kernel's time from first principles and one set of
// constants. Convolutions: the fastest algorithm of conv_time.h, reported as Estimate::algorithm.
// Matrix products: the same streams with the tiles of GEMM libraries. Everything else: the slowest
// level's bytes at an attainable share of its bandwidth, plus the launch. DeLTA's assumptions do
// not hold for: matrix units and 16-bit types (no calibration), NHWC kernels, GPUs that are not
// NVIDIA, depthwise layers, fused attention; such estimates are marked `extrapolated`.
#pragma once

#include <memory>

#include "cost/predictor.h"

namespace rooftile::cost::delta {

std::unique_ptr<Predictor> make_delta();

}  // namespace rooftile::cost::delta
