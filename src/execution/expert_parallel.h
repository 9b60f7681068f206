// SPDX-License-Identifier: Apache-2.0
//
// Experts of a layer dealt out to GPUs that all hold its tokens (expert parallelism inside of a
// tensor-parallel group, as serving engines run it): each GPU works on the slots of its own experts,
// and the outputs are added up over the group, so that no token travels. The group waits for the
// GPU with the most work. Under uniform routing the slots of one GPU scatter about their mean with
//
//   sigma^2 = n k (1 / w) (1 - 1 / w) (E - k) / (E - 1)
//
// (n tokens with k of E experts each on w GPUs), its experts that are hit with E / w p (1 - p)
// (1 - 1 / w), p = 1 - (1 - k / E)^n; the busiest of w is about as many sigma above the mean as the
// largest of w numbers of a normal distribution. Routing that prefers some experts is worse.
//
// Limits: inference only (training sends tokens instead), groups inside of --tp only.
#pragma once

#include <cstdint>
#include <set>

#include "core/result.h"
#include "graph/graph.h"

namespace rooftile::execution {

/// What the busiest of the GPUs has to do with a layer's experts.
struct BusiestShare {
  std::int64_t slots = 1;  ///< tokens x experts per token that are its own
  std::int64_t hit = 1;    ///< of its experts
};
BusiestShare busiest_share(std::int64_t tokens, std::int64_t top_k, std::int64_t experts,
                           std::int64_t ways);

/// Nodes that work on the slots of experts: behind a dispatch, up to the combination.
std::set<std::size_t> expert_nodes(const graph::Block& block);

/// The part of `graph` that the busiest of `ways` GPUs runs. A model without experts, or with a
/// number of them that `ways` does not divide, is an error.
Result<graph::Graph> split_experts(const graph::Graph& graph, std::int64_t ways);

}  // namespace rooftile::execution
