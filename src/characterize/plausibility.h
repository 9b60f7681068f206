// SPDX-License-Identifier: Apache-2.0
//
// What cannot be true is not written: a sample is compared with what the units of the device can do
// per cycle (UnitLimits) times the highest clock they may have had. A kernel that does less than it
// is counted for - an empty loop, loads that the compiler removed - shows up here, whatever the
// reason.
//
//   rate       <= FLOP per cycle x clock            bandwidth <= accesses / max(loads / load limit,
//   latency    >= 3 cycles per dependent load                    stores / store limit) x clock
//   overhead   >= 20 cycles per launch
//
// The clock is the highest of those observed and the one that the device states, plus a margin for
// boosts in between; where there is neither, that of the fastest processor sold.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "characterize/device.h"
#include "characterize/measurement.h"
#include "core/units.h"

namespace rooftile::characterize {

/// A clock may have been so much higher between two observations.
inline constexpr double kObservedClockMargin = 1.10;
/// GPUs boost so much beyond the clock that they state.
inline constexpr double kStatedClockMargin = 1.25;
/// No processor or GPU is sold with more (Core i9-14900KS: 6.2 GHz).
inline constexpr Hertz kFastestClock = 6500_MHz;

class Plausibility {
 public:
  explicit Plausibility(const DeviceDescription& device) : device_(device) {}

  /// Observations, in any order; nothing is ignored.
  void observe(std::optional<Hertz> clock);
  [[nodiscard]] const std::vector<Hertz>& observed() const { return observed_; }

  /// The clock that the limits are multiplied by, margin included.
  [[nodiscard]] Hertz highest_clock() const;

  /// Why the sample cannot be true ("1.21 PFLOP/s, above the 384 GFLOP/s that ..."); nothing when
  /// it can.
  [[nodiscard]] std::optional<std::string> doubt(const Sample& sample) const;

 private:
  [[nodiscard]] std::optional<std::string> doubt_rate(const Sample& sample) const;
  [[nodiscard]] std::optional<std::string> doubt_bandwidth(const Sample& sample) const;
  [[nodiscard]] std::optional<std::string> doubt_steps(const Sample& sample) const;
  [[nodiscard]] std::string of_units() const;

  const DeviceDescription& device_;
  std::vector<Hertz> observed_;
};

/// A case that was measured twice and could not be true either time.
struct Omission {
  Case what;
  std::string reason;
};

/// One warning per pattern and number format.
std::vector<std::string> describe_omissions(const std::vector<Omission>& omissions);

}  // namespace rooftile::characterize
