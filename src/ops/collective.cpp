// SPDX-License-Identifier: Apache-2.0
#include "ops/collective.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "core/text.h"

namespace rooftile::ops {

std::string_view name_of(CollectiveKind kind) {
  switch (kind) {
    case CollectiveKind::AllReduce: return "all_reduce";
    case CollectiveKind::AllGather: return "all_gather";
    case CollectiveKind::ReduceScatter: return "reduce_scatter";
    case CollectiveKind::AllToAll: return "all_to_all";
    case CollectiveKind::Broadcast: return "broadcast";
    case CollectiveKind::Send: return "send";
  }
  return "";
}

std::optional<CollectiveKind> collective_named(std::string_view text) {
  std::string word = to_lower(text);
  std::erase_if(word, [](char c) { return c == '_' || c == '-'; });
  if (word.find("barrier") != std::string::npos) return std::nullopt;
  // "reducescatter" and "allreduce" before "reduce".
  constexpr std::array<std::pair<std::string_view, CollectiveKind>, 8> kWords{{
      {"allreduce", CollectiveKind::AllReduce},
      {"allgather", CollectiveKind::AllGather},
      {"reducescatter", CollectiveKind::ReduceScatter},
      {"alltoall", CollectiveKind::AllToAll},
      {"broadcast", CollectiveKind::Broadcast},
      {"reduce", CollectiveKind::Broadcast},
      {"send", CollectiveKind::Send},
      {"recv", CollectiveKind::Send},
  }};
  for (const auto& [known, kind] : kWords) {
    if (word.find(known) != std::string::npos) return kind;
  }
  return std::nullopt;
}

}  // namespace rooftile::ops
