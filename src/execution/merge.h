// SPDX-License-Identifier: Apache-2.0
//
// Operators that serving engines and training frameworks run as one kernel although no chain of
// vector operators joins them. Each function gives a valid graph with the same parameters.
//
//   merge_linear   linear layers of one input whose results meet before the next product: q, k and
//                  v at the attention, gate and up at their product; also those of experts
//   merge_rotary   rotations that feed one attention (which writes the cache in the same kernel)
//   carry_norms    the norm that opens a layer, computed by the kernel that makes the layer's input
//                  (residual sum + norm): it moves to the end of the block before
#pragma once

#include "graph/graph.h"

namespace rooftile::execution {

graph::Graph merge_linear(const graph::Graph& graph);
graph::Graph merge_rotary(const graph::Graph& graph);
graph::Graph carry_norms(const graph::Graph& graph);

}  // namespace rooftile::execution
