// SPDX-License-Identifier: Apache-2.0
#include "characterize/statistics.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

namespace rooftile::characterize {

namespace {

/// P(K = k) for K ~ Binomial(n, q), by logarithms so that n = 10^5 does not underflow.
double binomial_pmf(std::int64_t n, std::int64_t k, double q) {
  const auto dn = static_cast<double>(n);
  const auto dk = static_cast<double>(k);
  return std::exp(std::lgamma(dn + 1) - std::lgamma(dk + 1) - std::lgamma(dn - dk + 1) +
                  dk * std::log(q) + (dn - dk) * std::log1p(-q));
}

struct OrderInterval {
  std::int64_t low, high;  ///< indices from 0 into the sorted times
  double coverage;
};

// X_(l) <= xi_q <= X_(u) (1-based) exactly when l <= K <= u - 1 times lie below the quantile, so
// the coverage is the sum of the binomial probabilities of those K. Starting from the most likely
// K, the interval grows on the side that adds more until the wanted confidence is reached.
OrderInterval order_interval(std::int64_t n, double q, double confidence) {
  const auto mode = std::clamp<std::int64_t>(std::llround(static_cast<double>(n) * q), 1,
                                             std::max<std::int64_t>(n - 1, 1));
  std::int64_t first = mode, last = mode;
  if (n == 1) return {0, 0, 0.0};
  double coverage = binomial_pmf(n, mode, q);
  while (coverage < confidence && (first > 1 || last < n - 1)) {
    const double below = first > 1 ? binomial_pmf(n, first - 1, q) : -1.0;
    const double above = last < n - 1 ? binomial_pmf(n, last + 1, q) : -1.0;
    if (below >= above) {
      --first;
      coverage += below;
    } else {
      ++last;
      coverage += above;
    }
    // K = 0 means that even the minimum lies above the quantile; no order statistic bounds it
    // from below, so once only that case is left on the low side, growing upwards is all one can.
    if (below < 0 && above < 1e-12) break;
  }
  return {first - 1, last, std::min(coverage, 1.0)};
}

}  // namespace

Seconds quantile(std::span<const Seconds> sorted, double q) {
  const double position = q * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(position);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (sorted[above] - sorted[below]) * (position - static_cast<double>(below));
}

TimeSummary summarize(std::span<const Seconds> times, double confidence) {
  std::vector<Seconds> sorted(times.begin(), times.end());
  std::sort(sorted.begin(), sorted.end());
  const auto n = static_cast<std::int64_t>(sorted.size());
  const OrderInterval interval = order_interval(n, kFastQuantile, confidence);
  TimeSummary summary;
  summary.fast = quantile(sorted, kFastQuantile);
  summary.low = sorted[static_cast<std::size_t>(interval.low)];
  summary.high = sorted[static_cast<std::size_t>(interval.high)];
  summary.confidence = interval.coverage;
  summary.minimum = sorted.front();
  summary.median = quantile(sorted, 0.5);
  summary.maximum = sorted.back();
  summary.spread_fraction = (quantile(sorted, 0.9) - quantile(sorted, 0.1)) / summary.median;
  summary.repetitions = n;
  return summary;
}

double relative_error(const TimeSummary& summary) {
  return (summary.high - summary.low) / summary.fast / 2.0;
}

Stop check(const StoppingRule& rule, std::span<const Seconds> times) {
  const auto n = static_cast<std::int64_t>(times.size());
  if (n < rule.min_repetitions) return Stop::Continue;
  if (relative_error(summarize(times, rule.confidence)) <= rule.target_error) {
    return Stop::Converged;
  }
  Seconds spent;
  for (const Seconds t : times) spent += t;
  return n >= rule.max_repetitions || spent >= rule.budget ? Stop::OutOfBudget : Stop::Continue;
}

}  // namespace rooftile::characterize
