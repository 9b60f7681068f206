// SPDX-License-Identifier: Apache-2.0
//
// Measured times against what the hardware allows. No kernel is faster than its bound, so a file in
// which many are holds other units, other columns or another GPU than it says. The bound that
// applies: rows measured with warm caches owe the DRAM nothing, convolutions only the FLOPs of the
// fastest algorithm. Clocks above the quoted ones explain a few per cent, hence the tolerance.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "calibration/dataset.h"
#include "core/result.h"

namespace rooftile::calibration {

/// Seconds that the row takes at least.
double bound_of(const Dataset& dataset, const Sample& sample);

struct TimedRow {
  double measured = 0, bound = 0;  ///< in one unit
  std::uint32_t line = 0;
};

/// The rows of one file next to their bounds.
struct TimeCheck {
  std::string file;
  std::int64_t rows = 0;
  std::int64_t below = 0;                 ///< rows more than 5 % below their bound
  double factor = 1;                      ///< by how much, median of these rows
  std::uint32_t line = 0;                 ///< the first of them
  double median_ratio = 1;                ///< of all rows: time over bound
  [[nodiscard]] bool refused() const;     ///< more than 1 % of the rows lie below
  [[nodiscard]] bool suspicious() const;  ///< the median takes hundreds of times its bound
  /// One sentence about the times of a file that is one of the two, and what may be wrong.
  [[nodiscard]] std::string message() const;
  [[nodiscard]] std::string advice() const;
  /// "times: FILE: message: advice"; nothing for plausible times.
  [[nodiscard]] std::optional<std::string> warning() const;
};
TimeCheck check_times(const std::string& file, std::span<const TimedRow> rows);
/// File by file.
std::vector<TimeCheck> check_times(const Dataset& dataset);

/// Fails on the first file that is refused, or where there are too few rows; every fit asks.
Status check_fittable(const Dataset& dataset);

/// "times: FILE: ..." for every file whose times are not plausible, and what lint finds in the
/// files of its GPUs.
std::vector<std::string> warnings_of(const Dataset& dataset);

}  // namespace rooftile::calibration
