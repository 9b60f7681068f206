// SPDX-License-Identifier: Apache-2.0
//
// The reduction of the Empirical Roofline Toolkit, step by step as ERT 1.1.0 and its successors do
// it, so that its published numbers can be reproduced and old result trees re-read:
//
//   try.NNN  one line per (working set, trials): bytes, trials, microseconds, bytes, FLOPs
//   pre      minimum, median and maximum over the experiments
//   max      per working set the line with the LARGEST NUMBER OF TRIALS (not the fastest)
//   sum      peak = highest median GFLOP/s; levels = bands of a histogram of the bandwidths
//
// Names follow the order alone: the last band is DRAM, those before it L1, L2, ... This is wrong
// where a level has no plateau; characterize/plateau.h is what rooftile uses by default.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/units.h"
#include "hardware/roof_file.h"

namespace rooftile::hardware {

/// One line of a `max` file: the rates at one working set.
struct ErtPoint {
  Bytes working_set;
  BytesPerSecond bandwidth;  ///< median over the experiments
  FlopsPerSecond rate;       ///< median over the experiments

  bool operator==(const ErtPoint&) const = default;
};

struct ErtLevel {
  std::string name;
  BytesPerSecond bandwidth;

  bool operator==(const ErtLevel&) const = default;
};

struct ErtSummary {
  FlopsPerSecond peak;
  double weight = 0.0;  ///< integral of the median GB/s over ln(working set)
  std::vector<ErtLevel> levels;

  bool operator==(const ErtSummary&) const = default;
};

struct ErtRule {
  /// A band starts when this factor times its value is still below the previous band: 1.25 in
  /// ERT 1.1.0 (2015 to 2018), 1.15 since mid-2019.
  double gap = 1.25;
};

/// pre and max: the median over the experiments per (working set, trials), then the most trials.
std::vector<ErtPoint> ert_points(std::span<const SweepSample> sweep);

/// Of the level names that ERT writes: "L1", "L2", "DRAM".
std::optional<MemoryLevel> parse_ert_level(std::string_view name);

/// sum: `points` in ascending order of the working set.
ErtSummary summarize_ert(std::span<const ErtPoint> points, const ErtRule& rule);

}  // namespace rooftile::hardware
