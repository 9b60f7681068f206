// SPDX-License-Identifier: Apache-2.0
//
// From kernels to a step: adds up the estimates of all launches, per phase and per limiter. The
// interval of the sum is the sum of the intervals: errors of kernels on one GPU are correlated
// (one clock, one memory system), so they must not be averaged away with the square root of their
// number.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "core/units.h"
#include "graph/lower.h"
#include "latency/estimate.h"

namespace rooftile::aggregate {

/// One kernel of the lowered graph with the estimate of a single launch.
struct OperatorEstimate {
  graph::LoweredKernel kernel;
  latency::Estimate estimate;
};

struct StepEstimate {
  Seconds total, low, high;
  Seconds bound;
  Flops flops;
  std::array<Seconds, 4> by_phase{};                     ///< indexed by graph::Phase
  std::array<Seconds, latency::kLimiters> by_limiter{};  ///< indexed by latency::Limiter
  std::vector<OperatorEstimate> operators;

  [[nodiscard]] Seconds of(graph::Phase phase) const {
    return by_phase[static_cast<std::size_t>(phase)];
  }
  [[nodiscard]] Seconds of(latency::Limiter limiter) const {
    return by_limiter[static_cast<std::size_t>(limiter)];
  }
};

StepEstimate step_time(std::vector<OperatorEstimate> operators);

}  // namespace rooftile::aggregate
