// SPDX-License-Identifier: Apache-2.0
//
// The curves behind measured ceilings: bandwidth against working set, one per access pattern, and
// FLOP/s against intensity, one per number format; with the ceilings as lines where they are known.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "characterize/measurement.h"
#include "hardware/ceilings.h"
#include "report/document.h"

namespace rooftile::report {

struct Ceiling {
  std::string name;            ///< "L1", "fp64"
  double value = 0;            ///< byte/s, FLOP/s or OP/s
  std::optional<DType> dtype;  ///< of the arithmetic; absent: a bandwidth
};

struct MachineCurves {
  std::string title, subtitle;
  std::vector<Curve> bandwidth, rate;  ///< bytes -> byte/s, FLOP/byte -> FLOP/s
  std::vector<Ceiling> levels, peaks;
  std::vector<std::string> notes;
};

/// `ceilings` may be null: curves alone.
MachineCurves machine_curves(std::span<const characterize::Sample> samples,
                             const hardware::Ceilings* ceilings);

/// "117 GFLOP/s", "fp64 117 GFLOP/s"
std::string ceiling_rate(const Ceiling& ceiling);
std::string ceiling_text(const Ceiling& ceiling);

std::vector<CurveChart> charts_of(const MachineCurves& machine);

}  // namespace rooftile::report
