// SPDX-License-Identifier: Apache-2.0
#include "aggregate/communication.h"

#include <cmath>

namespace rooftile::aggregate {

namespace {

using cost::LinkConstants;
using cost::LinkForm;
using hardware::GroupLink;
using hardware::LinkKind;

/// A pair of GPUs talks behind one bridge, more of them through the host.
constexpr std::int64_t kPcieGroupAlone = 2;

struct Message {
  Bytes wire;  ///< bytes that each GPU sends
  double steps = 1;
  Bytes from_gpu;   ///< what must leave each GPU, whatever the algorithm
  Bytes from_node;  ///< the same for the members in a node together, to other nodes
};

/// `wire` bytes at the long messages' rate of `each`, slow start included.
Seconds moving(Bytes wire, BytesPerSecond each, const LinkForm& c, double exponent) {
  const double slow_start = wire > Bytes{} ? 1 + std::pow(c.ramp / wire.base(), exponent) : 1.0;
  return wire / each * (slow_start / c.efficiency);
}

Seconds bound_of(const Message& message, const GroupLink& link) {
  if (!link.network) return message.from_gpu / link.per_direction;
  const BytesPerSecond out = link.network->at_most;
  if (link.in_node == 1) return message.from_node / out;
  return max(message.from_node / out, message.from_gpu / (link.per_direction + out));
}

TransferTime ring(const Message& message, const GroupLink& link, const LinkConstants& c) {
  const bool pcie = link.kind == LinkKind::Pcie;
  const LinkForm& inside = pcie ? c.pcie : c.fabric;
  const double exponent = c.shape.ramp_exponent;
  const bool shared = pcie && link.in_node > kPcieGroupAlone;
  const double sharing = shared ? static_cast<double>(link.in_node) : 1.0;
  Seconds move;
  if (link.in_node > 1 || !link.network)
    move = moving(message.wire, link.per_direction / sharing, inside, exponent);
  if (link.network) {
    move = max(move, moving(message.wire, link.network->per_direction, c.fabric, exponent));
  }
  const double spread = link.network ? c.shape.network_spread : inside.spread;
  const LinkForm& first = link.network ? c.fabric : inside;
  TransferTime t;
  t.bound = bound_of(message, link);
  t.time =
      max(Seconds::from_base(first.start) + Seconds::from_base(first.step) * message.steps + move,
          t.bound);
  t.low = max(t.time / spread, t.bound);
  t.high = t.time * spread;
  return t;
}

Message message_of(const ops::Collective& collective, const GroupLink& link) {
  using ops::CollectiveKind;
  const auto n = static_cast<double>(collective.gpus);
  const auto nodes = static_cast<double>(link.nodes);
  const Bytes part = collective.bytes * ((n - 1) / n);
  const Bytes from_node = collective.bytes * ((nodes - 1) / nodes);
  switch (collective.kind) {
    case CollectiveKind::AllReduce:
      return {.wire = part * 2.0, .steps = 2 * (n - 1), .from_gpu = part, .from_node = from_node};
    case CollectiveKind::AllGather:
    case CollectiveKind::ReduceScatter:
      return {.wire = part, .steps = n - 1, .from_gpu = part, .from_node = from_node};
    case CollectiveKind::AllToAll: {
      const auto members = static_cast<double>(link.in_node);
      return {.wire = part,
              .steps = 1,
              .from_gpu = part,
              .from_node = collective.bytes * (members * (n - members) / n)};
    }
    case CollectiveKind::Broadcast:
      return {.wire = collective.bytes,
              .steps = n - 1,
              .from_gpu = collective.bytes,
              .from_node = nodes > 1 ? collective.bytes : Bytes{}};
    case CollectiveKind::Send: break;
  }
  return {.wire = collective.bytes,
          .steps = 1,
          .from_gpu = collective.bytes,
          .from_node = nodes > 1 ? collective.bytes : Bytes{}};
}

}  // namespace

TransferTime& TransferTime::operator+=(const TransferTime& other) {
  time += other.time;
  low += other.low;
  high += other.high;
  bound += other.bound;
  return *this;
}

TransferTime all_reduce(Bytes bytes, std::int64_t gpus, const GroupLink& link,
                        const LinkConstants& constants) {
  return exchange({.kind = ops::CollectiveKind::AllReduce, .bytes = bytes, .gpus = gpus}, link,
                  constants);
}

TransferTime exchange(const ops::Collective& collective, const GroupLink& link,
                      const LinkConstants& constants) {
  if (collective.gpus < 2 || collective.bytes <= Bytes{}) return {};
  TransferTime t = ring(message_of(collective, link), link, constants);
  if (collective.kind != ops::CollectiveKind::AllReduce) {
    const double spread = constants.shape.network_spread;  // nobody fitted these
    t.low = max(min(t.low, t.time / spread), t.bound);
    t.high = max(t.high, t.time * spread);
  }
  return t;
}

TransferTime one_shot_all_reduce(Bytes bytes, std::int64_t gpus, const GroupLink& link,
                                 const LinkConstants& constants,
                                 const cost::OneShotForm& one_shot) {
  TransferTime t = all_reduce(bytes, gpus, link, constants);
  if (gpus < 2 || bytes <= Bytes{} || link.network || link.kind == LinkKind::Pcie) return t;
  const auto n = static_cast<double>(gpus);
  const BytesPerSecond rate = link.per_direction * one_shot.efficiency;
  const Seconds parts = bytes * (n - 1) / rate;
  const Seconds sums = Seconds::from_base(one_shot.second) + bytes * (2 * (n - 1) / n) / rate;
  const Seconds shot =
      max(Seconds::from_base(one_shot.start + one_shot.step * n) + min(parts, sums), t.bound);
  if (shot >= t.time) return t;
  t.time = shot;
  t.low = max(shot / one_shot.spread, t.bound);
  t.high = shot * one_shot.spread;
  return t;
}

TransferTime send(Bytes bytes, std::int64_t copies, const GroupLink& link,
                  const LinkConstants& constants) {
  if (bytes <= Bytes{}) return {};
  const Bytes part = bytes / static_cast<double>(copies);
  return ring({.wire = bytes, .steps = 1, .from_gpu = part, .from_node = part}, link, constants);
}

}  // namespace rooftile::aggregate
