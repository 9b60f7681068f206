// SPDX-License-Identifier: Apache-2.0
#include "aggregate/step.h"

#include <cmath>
#include <utility>

namespace rooftile::aggregate {

void StepSum::CorrelatedWidth::add(Seconds width) {
  sum += width;
  squares += width.base() * width.base();
}

Seconds StepSum::CorrelatedWidth::total(double correlation) const {
  return Seconds::from_base(
      std::sqrt(correlation * sum.base() * sum.base() + (1 - correlation) * squares));
}

void StepSum::add(const execution::Launch& kernel, const cost::Estimate& estimate) {
  const auto launches = static_cast<double>(kernel.count);
  const Seconds time = estimate.time * launches;
  sums_.total += time;
  below_.add((estimate.time - estimate.low) * launches);
  above_.add((estimate.high - estimate.time) * launches);
  sums_.bound += estimate.bound * launches;
  sums_.flops += kernel.work.flops * launches;
  sums_.by_phase[static_cast<std::size_t>(kernel.phase)] += time;
  sums_.by_limiter[static_cast<std::size_t>(estimate.limiter())] += time;
  host_ += Seconds::from_base(constants_.host_launch) * launches;
  bound_only_ = bound_only_ && estimate.provenance == cost::Provenance::Bound;
}

StepEstimate StepSum::step(double host_spread) const {
  StepEstimate step = sums_;
  step.low = max(step.total - below_.total(constants_.error_correlation), step.bound);
  step.high = step.total + above_.total(constants_.error_correlation);
  const bool stated = step.low < step.high;
  step.parts.kernels = step.total;
  if (!bound_only_ && host_ > step.total) {
    const double stretch = host_ / step.total;
    step.parts.host = host_ - step.total;
    for (Seconds& phase : step.by_phase) phase *= stretch;
    step.total = host_;
    // The host's spread alone does not make an interval for a step whose kernels have none.
    step.low = stated ? max(step.low, host_ / host_spread) : step.total;
    step.high = stated ? max(step.high, host_ * host_spread) : step.total;
  }
  return step;
}

StepEstimate step_time(std::vector<OperatorEstimate> operators,
                       const cost::StepConstants& constants) {
  StepSum sum(constants);
  for (const OperatorEstimate& op : operators) sum.add(op.kernel, op.estimate);
  StepEstimate step = sum.step();
  step.operators = std::move(operators);
  return step;
}

}  // namespace rooftile::aggregate
