// SPDX-License-Identifier: Apache-2.0
#include "aggregate/step.h"

#include <utility>

namespace rooftile::aggregate {

StepEstimate step_time(std::vector<OperatorEstimate> operators) {
  StepEstimate step;
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
  }
  step.operators = std::move(operators);
  return step;
}

}  // namespace rooftile::aggregate
