// SPDX-License-Identifier: Apache-2.0
//
// How far predictions are from measurements: the numbers that every accuracy table shows. Errors
// are predicted / measured - 1, as fractions. The 90 % quantile is the nearest rank (the smallest
// error that at least 90 % of the cases do not exceed), so that it is one of the errors, also when
// there are only a few.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

namespace rooftile {

/// One prediction and its measurement; all four in the same unit, `measured` positive.
struct Compared {
  double measured = 1, predicted = 1;
  double low = 1, high = 1;  ///< the stated interval; equal where none is stated
  [[nodiscard]] double error() const { return predicted / measured - 1; }
};

struct ErrorStatistics {
  std::int64_t cases = 0;
  double mean_error = 0;       ///< mean of |error|
  double median_error = 0;     ///< half of |error| are at most this
  double geometric_error = 0;  ///< exp(mean |ln(predicted / measured)|) - 1
  double p90_error = 0;        ///< 90 % of |error| are at most this
  double worst_error = 0;      ///< largest |error|
  double bias = 0;             ///< mean of the signed error
  /// Fraction of the measurements inside of their interval; nothing where none is stated.
  std::optional<double> coverage;
};

/// All zero without cases.
ErrorStatistics error_statistics(std::span<const Compared> cases);

}  // namespace rooftile
