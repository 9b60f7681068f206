// SPDX-License-Identifier: Apache-2.0
#include "aggregate/timeline.h"

#include <algorithm>
#include <limits>

namespace rooftile::aggregate {

namespace {

constexpr double kNever = -std::numeric_limits<double>::infinity();

ClockMap launch_map(double host, double kernel) {
  ClockMap map;
  map.hh = host;
  map.dh = host + kernel;
  map.dd = kernel;
  return map;
}

ClockMap wait_map(double sync) {
  ClockMap map;
  map.hh = map.hd = sync;
  return map;
}

}  // namespace

ClockMap::ClockMap() : hd(kNever), dh(kNever) {
}

ClockMap ClockMap::then(const ClockMap& next) const {
  ClockMap both;
  both.hh = std::max(hh + next.hh, dh + next.hd);
  both.hd = std::max(hd + next.hh, dd + next.hd);
  both.dh = std::max(hh + next.dh, dh + next.dd);
  both.dd = std::max(hd + next.dh, dd + next.dd);
  return both;
}

ClockMap ClockMap::repeated(std::int64_t times) const {
  ClockMap result;
  ClockMap power = *this;
  for (std::int64_t left = times; left > 0; left /= 2) {
    if (left % 2 == 1) result = result.then(power);
    power = power.then(power);
  }
  return result;
}

ClockMap Timeline::with_body() const {
  return done_.then(body_.repeated(repeat_));
}

void Timeline::add(const execution::Launch& kernel, Seconds time) {
  if (!phase_ || *phase_ != kernel.phase || block_ != kernel.block || repeat_ != kernel.repeat) {
    done_ = with_body();
    body_ = {};
    repeat_ = kernel.repeat;
    block_ = kernel.block;
    phase_ = kernel.phase;
  }
  ClockMap one = launch_map(host_.launch.base(), time.base());
  if (kernel.waits) one = one.then(wait_map(host_.sync.base()));
  body_ = body_.then(one.repeated(kernel.count / kernel.repeat));
}

Seconds Timeline::total() const {
  if (!phase_) return host_.step;
  const ClockMap all = with_body();
  // The host begins one launch before the device.
  return Seconds::from_base(std::max(all.dh - host_.launch.base(), all.dd)) + host_.step;
}

}  // namespace rooftile::aggregate
