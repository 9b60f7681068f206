// SPDX-License-Identifier: Apache-2.0
#include "aggregate/communication.h"

#include <cmath>

namespace rooftile::aggregate {

namespace {

using hardware::GroupLink;
using hardware::LinkKind;

struct LinkConstants {
  double efficiency = 1;  ///< of the data sheet's rate, for long messages
  Seconds start, step;
  Bytes ramp;
  double spread = 1;  ///< the 80 % interval is time / spread to time * spread
};

// NCCL 2.27 to 2.29 all-reduces, 2 and 4 GPUs, 4 KiB to 512 MiB (AIConfigurator). Mean error there:
// fabric 6.4 %, PCIe 6.1 % on two GPUs and 8 % on four; on eight L40S the rule is 40 % too fast.
constexpr LinkConstants kFabric{.efficiency = 0.85,
                                .start = Seconds::from_base(5e-6),
                                .step = Seconds::from_base(0.75e-6),
                                .ramp = Bytes::from_base(4e6),
                                .spread = 1.2};
constexpr LinkConstants kPcie{.efficiency = 0.68,
                              .start = Seconds::from_base(4e-6),
                              .step = Seconds::from_base(0.75e-6),
                              .ramp = Bytes::from_base(1e5),
                              .spread = 1.5};
constexpr double kNetworkSpread = 1.5;  // not measured
constexpr double kRampExponent = 0.4;
/// A pair of GPUs talks behind one bridge, more of them through the host.
constexpr std::int64_t kPcieGroupAlone = 2;

LinkConstants constants_of(LinkKind kind) {
  switch (kind) {
    case LinkKind::Fabric: return kFabric;
    case LinkKind::Pcie: return kPcie;
    case LinkKind::Network: break;
  }
  LinkConstants network = kFabric;
  network.spread = kNetworkSpread;
  return network;
}

struct Message {
  Bytes wire;      ///< bytes that each GPU sends
  Bytes at_least;  ///< the same for the best algorithm there is
  double steps = 1;
  std::int64_t gpus = 2;
};

TransferTime ring(const Message& message, const GroupLink& link) {
  const LinkConstants c = constants_of(link.kind);
  const bool shared = link.kind == LinkKind::Pcie && message.gpus > kPcieGroupAlone;
  const double sharing = shared ? static_cast<double>(message.gpus) : 1.0;
  TransferTime t;
  t.bound = message.at_least / link.per_direction;
  const double slow_start =
      message.wire > Bytes{} ? 1 + std::pow(c.ramp / message.wire, kRampExponent) : 1.0;
  const Seconds moving = message.wire / link.per_direction * (slow_start * sharing / c.efficiency);
  t.time = max(c.start + c.step * message.steps + moving, t.bound);
  t.low = max(t.time / c.spread, t.bound);
  t.high = t.time * c.spread;
  return t;
}

}  // namespace

TransferTime& TransferTime::operator+=(const TransferTime& other) {
  time += other.time;
  low += other.low;
  high += other.high;
  bound += other.bound;
  return *this;
}

TransferTime all_reduce(Bytes bytes, std::int64_t gpus, const GroupLink& link) {
  if (gpus < 2 || bytes <= Bytes{}) return {};
  const auto n = static_cast<double>(gpus);
  const Bytes part = bytes * ((n - 1) / n);
  return ring({.wire = part * 2.0, .at_least = part, .steps = 2 * (n - 1), .gpus = gpus}, link);
}

TransferTime send(Bytes bytes, const GroupLink& link) {
  if (bytes <= Bytes{}) return {};
  return ring({.wire = bytes, .at_least = bytes, .steps = 1, .gpus = 2}, link);
}

}  // namespace rooftile::aggregate
