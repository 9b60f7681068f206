// SPDX-License-Identifier: Apache-2.0
//
// Predictor `delta`: every kernel's time from first principles and one set of constants.
// Convolutions: the fastest algorithm of conv_time.h, reported as Estimate::algorithm. Matrix
// products: the same streams with the tiles of GEMM libraries. Everything else: the slowest level's
// bytes at an attainable share of its bandwidth, plus the launch. DeLTA's assumptions do not hold
// for: matrix units and 16-bit types (no calibration), NHWC kernels, GPUs that are not NVIDIA,
// depthwise layers, fused attention; such estimates are marked `extrapolated`.
#pragma once

#include <memory>
#include <string_view>

#include "cost/conv_time.h"
#include "cost/predictor.h"

namespace rooftile::cost {

/// One kernel, explained.
struct AnalyticalTime {
  Breakdown breakdown = {};
  std::string_view algorithm = {};  ///< empty where there is no choice
  mapping::TilePlan plan = {};
  traffic::Traffic traffic = {};
  bool calibrated = false;
};

/// `machine` must have been made for the kernel's arithmetic.
AnalyticalTime analytical_time(const ops::KernelWork& work, const TimeMachine& machine,
                               const hardware::GpuSpec& gpu);

/// The same for a kernel that is bound to its machine.
AnalyticalTime analytical_time(const Job& job, const hardware::Machine& machine,
                               const Constants& constants);

/// A convolution by one of its algorithms in a stream of kernels, without an interval.
Estimate conv_estimate(const Job& job, const hardware::Machine& machine,
                       const ConvCandidate& candidate, const StepConstants& constants);

std::unique_ptr<Predictor> make_delta_predictor(const Constants& constants);

}  // namespace rooftile::cost
