// SPDX-License-Identifier: Apache-2.0
//
// Host and device as two clocks. The host needs a while for every launch, the device runs kernels
// in order and never before they are launched; at a synchronisation point the host waits until the
// device has caught up:
//
//   launch        host' = host + launch          device' = max(device, host') + kernel
//   wait          host' = max(host, device) + sync
//
// Both are linear in (max, +): a body of launches is a 2 x 2 matrix, its repetitions a power of it,
// so that 96 layers cost no more than a handful. The clocks start when the first kernel does.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "core/units.h"
#include "execution/launches.h"

namespace rooftile::aggregate {

/// What the host adds to the kernels of a step.
struct HostCosts {
  Seconds launch;  ///< of one kernel
  Seconds sync;    ///< behind a point where it waits for the device
  Seconds step;    ///< once per step: scheduling, inputs, sampling
};

/// Clocks after some launches from the clocks before: host' = max(host + hh, device + hd) etc.
struct ClockMap {
  double hh = 0, hd, dh, dd = 0;  ///< seconds; -infinity where the one does not reach the other
  ClockMap();
  [[nodiscard]] ClockMap then(const ClockMap& next) const;
  [[nodiscard]] ClockMap repeated(std::int64_t times) const;
};

class Timeline {
 public:
  explicit Timeline(const HostCosts& host) : host_(host) {}
  /// In the order of execution; launches of one block and phase follow one another.
  void add(const execution::Launch& kernel, Seconds time);
  /// From the first kernel to the end of the last one, and what the step costs in addition.
  [[nodiscard]] Seconds total() const;

 private:
  [[nodiscard]] ClockMap with_body() const;

  HostCosts host_;
  ClockMap done_;  ///< the bodies before the current one
  ClockMap body_;  ///< one repetition of the current block
  std::int64_t repeat_ = 1;
  std::size_t block_ = 0;
  std::optional<execution::Phase> phase_;
};

}  // namespace rooftile::aggregate
