// SPDX-License-Identifier: Apache-2.0
//
// What a predictor says about one kernel: a time that is never below its bound, an interval, the
// resource that limits it, and where the number comes from.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "core/units.h"
#include "tile/tile_plan.h"
#include "traffic/traffic.h"

namespace rooftile::latency {

/// The resource whose bound is largest.
enum class Limiter : std::uint8_t { Compute, L1, L2, Dram, Launch };
inline constexpr std::size_t kLimiters = 5;

/// How the time was obtained, from best to least known.
enum class Provenance : std::uint8_t { Measured, Learned, Analytical, Bound };

std::string_view name_of(Limiter limiter);
std::string_view name_of(Provenance provenance);

struct Estimate {
  Seconds time;
  Seconds low, high;  ///< 80 % interval; equal to time where none is stated
  Seconds bound;
  Limiter limiter = Limiter::Compute;
  Provenance provenance = Provenance::Bound;
  bool extrapolated = false;   ///< outside of what the predictor was fitted on
  std::string_view algorithm;  ///< of a convolution where the predictor chose one; static text
  tile::TilePlan plan;
  traffic::Traffic traffic;
};

}  // namespace rooftile::latency
