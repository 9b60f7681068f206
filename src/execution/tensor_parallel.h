// SPDX-License-Identifier: Apache-2.0
//
// One model on several GPUs that share every layer, as in Megatron-LM [Sho19]: of two linear layers
// in a row the first one is split by its outputs (no communication), the second by its inputs; the
// partial sums of the second are added up over the GPUs ("all-reduce") and the same happens to the
// gradient of the first one's input. Sums wait for what is linear behind them
// (execution/partial_sums.h). Attention is split by heads, the vocabulary of the largest
// embedding and of the logits by its entries (rounded up, as padding does); norms, residual sums
// and what feeds them are repeated on every GPU.
//
// Which layers form pairs follows from the graph, not from names: a linear layer is split by its
// outputs when everything between it and the next linear layers can work on a part of the columns
// or heads; where something needs whole rows (a norm, a router), the layer is repeated instead.
//
// Experts are dealt out to `expert_ways` of the GPUs (execution/expert_parallel.h), their widths to
// the others: ways / expert_ways GPUs share each.
//
// Limits: no sequence parallelism, convolutions are not split.
#pragma once

#include <cstdint>

#include "core/result.h"
#include "graph/graph.h"

namespace rooftile::execution {

using graph::Block;
using graph::Graph;
using graph::Node;

/// The part of `whole` that one of `ways` GPUs runs, with the sums over the group in
/// Node::reduced_output and reduced_gradient. Heads or widths that `ways` does not divide are an
/// error, and so is a model without a pair of linear layers.
Result<Graph> split_tensors(const Graph& whole, std::int64_t ways, std::int64_t expert_ways);

}  // namespace rooftile::execution
