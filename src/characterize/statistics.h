// SPDX-License-Identifier: Apache-2.0
//
// From repeated timings of the same work to one number that can be trusted. Interference (other
// processes, interrupts, a hypervisor) only ever makes a run slower, so the attainable rate is a
// property of the fast end of the sample: the estimate is the 10 % quantile of the times, which
// one freak timing cannot move once there are 20 repetitions. Its confidence interval is the
// distribution-free one from order statistics (David and Nagaraja, Order Statistics, 7.1): the
// number of times below the quantile is binomial, whatever the distribution of the times is.
//
// Independence of the repetitions is assumed; a machine that slows down for seconds (throttling)
// breaks it, which is why the spread is reported next to the estimate.
#pragma once

#include <cstdint>
#include <span>

#include "core/units.h"

namespace rooftile::characterize {

/// The quantile of the times that stands for "undisturbed".
inline constexpr double kFastQuantile = 0.1;

struct TimeSummary {
  Seconds fast;             ///< the kFastQuantile quantile: the estimate
  Seconds low, high;        ///< confidence interval of `fast`
  double confidence = 0.0;  ///< probability that [low, high] covers the quantile
  Seconds minimum, median, maximum;
  double spread_fraction = 0.0;  ///< (90 % quantile - 10 % quantile) / median
  std::int64_t repetitions = 0;

  bool operator==(const TimeSummary&) const = default;
};

/// Summarises at least one time; `confidence` is what the interval should cover (0.95).
TimeSummary summarize(std::span<const Seconds> times, double confidence);

/// Linear interpolation between order statistics; `sorted` must be ascending and not empty.
Seconds quantile(std::span<const Seconds> sorted, double q);

/// Half the width of the confidence interval relative to the estimate.
double relative_error(const TimeSummary& summary);

/// When to stop repeating a measurement.
struct StoppingRule {
  std::int64_t min_repetitions = 12;
  std::int64_t max_repetitions = 200;
  double target_error = 0.01;  ///< stop when relative_error() is at most this
  double confidence = 0.95;
  Seconds budget = Seconds::from_base(0.2);  ///< stop (after min_repetitions) when spent
};

enum class Stop : std::uint8_t { Continue, Converged, OutOfBudget };

Stop check(const StoppingRule& rule, std::span<const Seconds> times);

}  // namespace rooftile::characterize
