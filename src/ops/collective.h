// SPDX-License-Identifier: Apache-2.0
//
// What a group of GPUs exchanges in one call of a communication library. `bytes` is the whole
// message: the buffer that is summed or sent, the gathered result, the input that is scattered.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "core/units.h"

namespace rooftile::ops {

enum class CollectiveKind : std::uint8_t {
  AllReduce,
  AllGather,
  ReduceScatter,
  AllToAll,
  Broadcast,  ///< from one GPU to all, or, as a reduction, from all to one
  Send,       ///< from one GPU to another one
};

/// all_reduce all_gather reduce_scatter all_to_all broadcast send
std::string_view name_of(CollectiveKind kind);

/// As libraries and frameworks spell it: "allreduce", "_allgather_base", "nccl:all_to_all",
/// "reduce_scatter_tensor_coalesced"; nothing for barriers and other words.
std::optional<CollectiveKind> collective_named(std::string_view text);

struct Collective {
  CollectiveKind kind = CollectiveKind::AllReduce;
  Bytes bytes;
  std::int64_t gpus = 1;

  bool operator==(const Collective&) const = default;
};

}  // namespace rooftile::ops
