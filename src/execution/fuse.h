// SPDX-License-Identifier: Apache-2.0
//
// Fusion as a compiler of the torch.compile kind does it: within a block, vector operators of equal
// size that feed one another become one kernel (ops::FusedVector). A producer joins its consumer
// when nobody else reads it; the sum before a norm (a residual stream) joins too and is written out
// once for its other readers. At most one row reduction per kernel; matrix products, gathers and
// copies stay alone.
#pragma once

#include <cstddef>
#include <vector>

#include "graph/graph.h"

namespace rooftile::execution {

using graph::Block;
using graph::Graph;
using graph::Node;

/// Total: a validated graph gives a valid graph with the same parameters.
Graph fuse(const Graph& graph);

/// For each node of each block the last node of the kernel that it runs in; its own index where it
/// runs alone.
std::vector<std::vector<std::size_t>> fused_kernels(const Graph& graph);

}  // namespace rooftile::execution
