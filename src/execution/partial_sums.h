// SPDX-License-Identifier: Apache-2.0
//
// Where tensor-parallel GPUs add up their partial sums. A sum over the GPUs may wait for everything
// behind it that is linear: the un-permutation of expert outputs (which shrinks them by the number
// of experts per token), a gate that all GPUs hold, and the sum of two branches, which then needs
// one all-reduce instead of two: routed and shared experts, attention and MLP of a parallel block.
#pragma once

#include <set>
#include <string>

#include "graph/graph.h"

namespace rooftile::execution {

/// Moves Node::reduced_output of the nodes of `block` as far behind as it may wait.
/// `published`: "block.node" names that other blocks read.
void defer_sums(const std::set<std::string>& published, graph::Block& block);

}  // namespace rooftile::execution
