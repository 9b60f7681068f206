// SPDX-License-Identifier: Apache-2.0
//
// A convolution by one of its algorithms (conv_time.h) as an estimate: time, plan and bytes.
#pragma once

#include <string_view>

#include "cost/conv_time.h"
#include "cost/predictor.h"

namespace rooftile::cost {

/// One kernel, explained.
struct KernelTime {
  Breakdown breakdown = {};
  std::string_view algorithm = {};  ///< empty where there is no choice
  mapping::TilePlan plan = {};
  traffic::Traffic traffic = {};
  bool calibrated = false;
};

mapping::TilePlan plan_of(const StreamTime& time);
/// At least the compulsory bytes at each level, and ordered.
traffic::Traffic traffic_of(const ops::KernelWork& work, const traffic::ReadBytes& read,
                            double written, const hardware::GpuSpec& gpu);

/// The fastest algorithm. `machine` must have been made for the kernel's arithmetic.
KernelTime conv_time(const ops::KernelWork& work, const ops::ConvShape& conv,
                     const TimeMachine& machine, const hardware::GpuSpec& gpu,
                     const ConvTimeOptions& options);

/// By one of its algorithms in a stream of kernels, without an interval.
Estimate conv_estimate(const Job& job, const hardware::Machine& machine,
                       const ConvCandidate& candidate, const StepConstants& constants);

}  // namespace rooftile::cost
