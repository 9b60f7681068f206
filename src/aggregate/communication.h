// SPDX-License-Identifier: Apache-2.0
//
// Time of a collective over a group of GPUs (docs/theory/distributed.md). A ring of n GPUs sends
// w bytes per GPU in s steps:
//
//   all-reduce                  w = 2 (n - 1) / n b,  s = 2 (n - 1)
//   all-gather, reduce-scatter  w = (n - 1) / n b,    s = n - 1
//   all-to-all                  w = (n - 1) / n b,    s = 1
//   broadcast                   w = b,                s = n - 1
//   send                        w = b,                s = 1
//
//   time = start + step s + w / (efficiency link) (1 + (ramp / w)^x)
//
// where the last factor is the slow start of medium messages and the others are fitted per
// kind of link (cost::LinkConstants) to all-reduces; the other collectives take the same numbers
// and the wider interval of what has no fit. On PCIe more than two GPUs share the host's bridges and each
// has 1/n of the link. A ring over
// several nodes leaves each of them once: its w bytes pass through what its members there have of
// the network (hardware::NetworkShare), and the slower of node and network counts. Networks have no
// data here: they take the fabric's constants.
//
// The bound is what any algorithm must move, also one that adds up inside the switch: of an
// all-reduce over n GPUs in m nodes at least (n - 1) / n b leave each GPU and (m - 1) / m b each
// node; of a message that `copies` GPUs send alike, each must send its part.
#pragma once

#include <cstdint>

#include "core/units.h"
#include "cost/constants.h"
#include "cost/stack_costs.h"
#include "hardware/system.h"
#include "ops/collective.h"

namespace rooftile::aggregate {

struct TransferTime {
  Seconds time, low, high, bound;

  TransferTime& operator+=(const TransferTime& other);
  friend TransferTime operator*(const TransferTime& one, double times) {
    return {one.time * times, one.low * times, one.high * times, one.bound * times};
  }
};

/// The sum of `bytes` on each of `gpus` GPUs, on all of them. Nothing for a single GPU.
TransferTime all_reduce(Bytes bytes, std::int64_t gpus, const hardware::GroupLink& link,
                        const cost::LinkConstants& constants);

/// Any collective; nothing for a single GPU.
TransferTime exchange(const ops::Collective& collective, const hardware::GroupLink& link,
                      const cost::LinkConstants& constants);

/// The sum as serving engines make it: short messages in one shot (cost/stack_costs.h), long ones
/// as the library does. Groups that leave their node have the library only.
TransferTime one_shot_all_reduce(Bytes bytes, std::int64_t gpus, const hardware::GroupLink& link,
                                 const cost::LinkConstants& constants,
                                 const cost::OneShotForm& one_shot);

/// `bytes` from one GPU to another one, the same bytes from each of `copies` GPUs.
TransferTime send(Bytes bytes, std::int64_t copies, const hardware::GroupLink& link,
                  const cost::LinkConstants& constants);

}  // namespace rooftile::aggregate
