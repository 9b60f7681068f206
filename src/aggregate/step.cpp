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
  timeline_.add(kernel, estimate.time);
  bound_only_ = bound_only_ && estimate.provenance == cost::Provenance::Bound;
}

StepEstimate StepSum::step(double host_spread) const {
  StepEstimate step = sums_;
  step.low = max(step.total - below_.total(costs_.error_correlation), step.bound);
  step.high = step.total + above_.total(costs_.error_correlation);
  const bool stated = step.low < step.high;
  step.parts.kernels = step.total;
  const Seconds total = timeline_.total();
  constexpr double kRounding = 1e-12;  // the two sums have different orders
  if (!bound_only_ && total > step.total * (1 + kRounding)) {
    const double stretch = total / step.total;
    const Seconds waiting = total - step.total;
    step.parts.host = waiting;
    for (Seconds& phase : step.by_phase) phase *= stretch;
    step.total = total;
    // What kernels may be off shows as far as the device is busy; the host's spread alone is no
    // interval of a step whose kernels have none.
    const double busy = step.parts.kernels / total;
    const Seconds below = (step.parts.kernels - step.low) * busy;
    const Seconds above = (step.high - step.parts.kernels) * busy;
    step.low = stated ? max(total - below - waiting * (1 - 1 / host_spread), step.bound) : total;
    step.high = stated ? total + above + waiting * (host_spread - 1) : total;
  }
  return step;
}

StepCosts step_costs(const cost::StepConstants& constants) {
  return {.host = {.launch = Seconds::from_base(constants.host_launch), .sync = {}, .step = {}},
          .host_spread = constants.host_spread,
          .error_correlation = constants.error_correlation};
}

StepCosts step_costs(const cost::StepConstants& constants, const cost::StackForm& stack,
                     bool captured) {
  return {.host = {.launch = captured ? Seconds{} : Seconds::from_base(stack.launch),
                   .sync = Seconds::from_base(stack.sync),
                   .step = Seconds::from_base(stack.step)},
          .host_spread = stack.spread,
          .error_correlation = constants.error_correlation};
}

StepEstimate step_time(std::vector<OperatorEstimate> operators, const StepCosts& costs) {
  StepSum sum(costs);
  for (const OperatorEstimate& op : operators) sum.add(op.kernel, op.estimate);
  StepEstimate step = sum.step();
  step.operators = std::move(operators);
  return step;
}

}  // namespace rooftile::aggregate
