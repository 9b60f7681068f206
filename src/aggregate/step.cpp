// SPDX-License-Identifier: Apache-2.0
#include "aggregate/step.h"

#include <algorithm>
#include <utility>

namespace rooftile::aggregate {

namespace {

// Host-only nodes took 6 to 9 us around 7: a factor of 1.3 each way.
constexpr double kHostSpread = 1.3;

}  // namespace

latency::Estimate in_step(const latency::Estimate& alone, const graph::LoweredKernel& kernel) {
  latency::Estimate estimate = alone;
  estimate.bound *= std::min(1.0, kernel.memory_factor);
  if (alone.provenance == latency::Provenance::Bound) {
    estimate.time = estimate.low = estimate.high = estimate.bound;
    return estimate;
  }
  const Seconds gap = kernel.memory_factor > 0 ? kKernelGap : Seconds{};
  for (Seconds* time : {&estimate.time, &estimate.low, &estimate.high}) {
    *time = max(*time * kernel.memory_factor + gap, estimate.bound);
  }
  return estimate;
}

StepEstimate step_time(std::vector<OperatorEstimate> operators) {
  StepEstimate step;
  bool bound_only = true;
  for (const OperatorEstimate& op : operators) {
    const auto launches = static_cast<double>(op.kernel.count);
    const Seconds time = op.estimate.time * launches;
    step.total += time;
    step.low += op.estimate.low * launches;
    step.high += op.estimate.high * launches;
    step.bound += op.estimate.bound * launches;
    step.flops += op.kernel.work.flops * launches;
    step.by_phase[static_cast<std::size_t>(op.kernel.phase)] += time;
    step.by_limiter[static_cast<std::size_t>(op.estimate.limiter)] += time;
    if (op.kernel.memory_factor > 0) step.host += kHostLaunch * launches;
    bound_only = bound_only && op.estimate.provenance == latency::Provenance::Bound;
  }
  if (!bound_only && step.host > step.total) {
    const double stretch = step.host / step.total;
    step.by_limiter[static_cast<std::size_t>(latency::Limiter::Launch)] += step.host - step.total;
    for (Seconds& phase : step.by_phase) phase *= stretch;
    step.total = step.host;
    step.low = max(step.low, step.host / kHostSpread);
    step.high = max(step.high, step.host * kHostSpread);
  }
  step.operators = std::move(operators);
  return step;
}

}  // namespace rooftile::aggregate
