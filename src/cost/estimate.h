// SPDX-License-Identifier: Apache-2.0
//
// What a predictor says about one kernel: a time that is never below its bound, an interval, what
// the time is made of, and where the number comes from.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string_view>

#include "core/units.h"
#include "hardware/resource.h"
#include "mapping/tile_plan.h"
#include "traffic/traffic.h"

namespace rooftile::cost {

using hardware::kResources;
using hardware::Resource;

/// Seconds per resource; zero where a model has no such term.
using Terms = std::array<Seconds, kResources>;

/// How the terms give the time:
///
///   on-chip = max(compute, shared, l1, l2, link, latency)
///   time    = (on-chip^join + dram^join)^(1 / join) residual + launch + host
///
/// Terms overlap, so they do not add up to the time.
struct Breakdown {
  static constexpr double kMaximum = std::numeric_limits<double>::infinity();

  Terms terms{};
  double join = kMaximum;  ///< infinite: the larger of the two
  double residual = 1;     ///< what measured kernels took beyond the terms

  [[nodiscard]] Seconds& of(Resource r) { return terms[static_cast<std::size_t>(r)]; }
  [[nodiscard]] Seconds of(Resource r) const { return terms[static_cast<std::size_t>(r)]; }
  [[nodiscard]] Seconds on_chip() const;
  [[nodiscard]] Seconds time() const;
  /// The largest term.
  [[nodiscard]] Resource limiter() const;
};

/// The breakdown of the same kernel if it moved `to` instead of `from`: the terms of the memory
/// levels in proportion.
Breakdown with_traffic(Breakdown breakdown, const traffic::Traffic& from,
                       const traffic::Traffic& to);

/// (a^p + b^p)^(1/p) of times; the larger one for infinite p.
double join_seconds(double a, double b, double p);

/// How the time was obtained, from best to least known.
enum class Provenance : std::uint8_t { Measured, Learned, Analytical, Bound };
std::string_view name_of(Provenance provenance);

struct Estimate {
  Seconds time;
  Seconds low, high;  ///< 80 % interval; equal to time where none is stated
  Seconds bound;
  Breakdown breakdown;  ///< of `time`
  Provenance provenance = Provenance::Bound;
  bool extrapolated = false;   ///< outside what the predictor was fitted on
  std::string_view algorithm;  ///< of a convolution where the predictor chose one; static text
  mapping::TilePlan plan;
  traffic::Traffic traffic;

  [[nodiscard]] Resource limiter() const { return breakdown.limiter(); }
};

}  // namespace rooftile::cost
