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
constexpr double kNetworkSpread = 1.5;  // networks take the fabric's constants: not measured
constexpr double kRampExponent = 0.4;
/// A pair of GPUs talks behind one bridge, more of them through the host.
constexpr std::int64_t kPcieGroupAlone = 2;

struct Message {
  Bytes wire;  ///< bytes that each GPU sends
  double steps = 1;
  Bytes from_gpu;   ///< what must leave each GPU, whatever the algorithm
  Bytes from_node;  ///< the same for the members in a node together, to other nodes
};

/// `wire` bytes at the long messages' rate of `each`, slow start included.
Seconds moving(Bytes wire, BytesPerSecond each, const LinkConstants& c) {
  const double slow_start = wire > Bytes{} ? 1 + std::pow(c.ramp / wire, kRampExponent) : 1.0;
  return wire / each * (slow_start / c.efficiency);
}

Seconds bound_of(const Message& message, const GroupLink& link) {
  if (!link.network) return message.from_gpu / link.per_direction;
  const BytesPerSecond out = link.network->at_most;
  if (link.in_node == 1) return message.from_node / out;
  return max(message.from_node / out, message.from_gpu / (link.per_direction + out));
}

TransferTime ring(const Message& message, const GroupLink& link) {
  const bool pcie = link.kind == LinkKind::Pcie;
  const LinkConstants& inside = pcie ? kPcie : kFabric;
  const bool shared = pcie && link.in_node > kPcieGroupAlone;
  const double sharing = shared ? static_cast<double>(link.in_node) : 1.0;
  Seconds move;
  if (link.in_node > 1 || !link.network)
    move = moving(message.wire, link.per_direction / sharing, inside);
  if (link.network) {
    move = max(move, moving(message.wire, link.network->per_direction, kFabric));
  }
  const double spread = link.network ? kNetworkSpread : inside.spread;
  const LinkConstants& start = link.network ? kFabric : inside;
  TransferTime t;
  t.bound = bound_of(message, link);
  t.time = max(start.start + start.step * message.steps + move, t.bound);
  t.low = max(t.time / spread, t.bound);
  t.high = t.time * spread;
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
  const auto nodes = static_cast<double>(link.nodes);
  const Bytes part = bytes * ((n - 1) / n);
  return ring({.wire = part * 2.0,
               .steps = 2 * (n - 1),
               .from_gpu = part,
               .from_node = bytes * ((nodes - 1) / nodes)},
              link);
}

TransferTime send(Bytes bytes, std::int64_t copies, const GroupLink& link) {
  if (bytes <= Bytes{}) return {};
  const Bytes part = bytes / static_cast<double>(copies);
  return ring({.wire = bytes, .steps = 1, .from_gpu = part, .from_node = part}, link);
}

}  // namespace rooftile::aggregate
