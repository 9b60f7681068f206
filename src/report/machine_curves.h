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

namespace rooftile::report {

struct MeasuredCurve {
  std::string name;  ///< "load fp64", "fp32, 24 KiB"
  std::vector<std::pair<double, double>>
      points;  ///< ascending; bytes -> byte/s, FLOP/byte -> FLOP/s
};

struct Ceiling {
  std::string name;            ///< "L1", "fp64"
  double value = 0;            ///< byte/s, FLOP/s or OP/s
  std::optional<DType> dtype;  ///< of the arithmetic; absent: a bandwidth
};

struct MachineCurves {
  std::string title, subtitle;
  std::vector<MeasuredCurve> bandwidth, rate;
  std::vector<Ceiling> levels, peaks;
  std::vector<std::string> notes;
};

/// `ceilings` may be null: curves alone.
MachineCurves machine_curves(std::span<const characterize::Sample> samples,
                             const hardware::Ceilings* ceilings);

/// Two plots, one below the other.
std::string machine_curves_to_svg(const MachineCurves& machine);
std::string machine_curves_to_json(const MachineCurves& machine);

}  // namespace rooftile::report
