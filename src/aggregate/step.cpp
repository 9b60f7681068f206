// SPDX-License-Identifier: Apache-2.0
#include "aggregate/step.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace rooftile::aggregate {

namespace {

// Host-only nodes took 6 to 9 us around 7: a factor of 1.3 each way.
constexpr double kHostSpread = 1.3;

/// Half of an interval, from equally correlated errors: the variance of the sum is
///   rho (sum of w)^2 + (1 - rho) sum of w^2
/// with w = what an operator's launches together may be off. With many operators the first term
/// stays: the width falls to sqrt(rho) of the sum of the widths and no further.
class CorrelatedWidth {
 public:
  void add(Seconds width) {
    sum_ += width;
    squares_ += width.base() * width.base();
  }
  [[nodiscard]] Seconds total() const {
    const double sum = sum_.base();
    return Seconds::from_base(
        std::sqrt(kErrorCorrelation * sum * sum + (1 - kErrorCorrelation) * squares_));
  }

 private:
  Seconds sum_;
  double squares_ = 0;
};

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
  Seconds host;
  CorrelatedWidth below, above;
  for (const OperatorEstimate& op : operators) {
    const auto launches = static_cast<double>(op.kernel.count);
    const Seconds time = op.estimate.time * launches;
    step.total += time;
    below.add((op.estimate.time - op.estimate.low) * launches);
    above.add((op.estimate.high - op.estimate.time) * launches);
    step.bound += op.estimate.bound * launches;
    step.flops += op.kernel.work.flops * launches;
    step.by_phase[static_cast<std::size_t>(op.kernel.phase)] += time;
    step.by_limiter[static_cast<std::size_t>(op.estimate.limiter)] += time;
    if (op.kernel.memory_factor > 0) host += kHostLaunch * launches;
    bound_only = bound_only && op.estimate.provenance == latency::Provenance::Bound;
  }
  step.low = max(step.total - below.total(), step.bound);
  step.high = step.total + above.total();
  const bool stated = step.low < step.high;
  step.parts.kernels = step.total;
  if (!bound_only && host > step.total) {
    const double stretch = host / step.total;
    step.parts.host = host - step.total;
    for (Seconds& phase : step.by_phase) phase *= stretch;
    step.total = host;
    // The host's spread alone is no interval of a step whose kernels have none.
    step.low = stated ? max(step.low, host / kHostSpread) : step.total;
    step.high = stated ? max(step.high, host * kHostSpread) : step.total;
  }
  step.operators = std::move(operators);
  return step;
}

}  // namespace rooftile::aggregate
