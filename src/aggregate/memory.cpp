// SPDX-License-Identifier: Apache-2.0
#include "aggregate/memory.h"

namespace rooftile::aggregate {

namespace {

using graph::Block;
using graph::Graph;
using graph::Node;

Bytes weight_bytes(const Graph& graph) {
  const ops::Precision precision = graph::precision_of(graph);
  const bool train = graph.step == graph::Step::Train;
  Bytes total =
      ops::bytes_of(graph.idle_parameters, train ? precision.storage : precision.matrix_storage);
  for (const Block& block : graph.blocks) {
    for (const Node& node : block.nodes) {
      total += graph::parameter_bytes(graph, node) * static_cast<double>(node.count * block.repeat);
    }
  }
  return total;
}

/// ZeRO's convention for mixed precision: 16-bit weights and gradients, and in FP32 the master
/// weights and the moments; 16 bytes per parameter with Adam.
Bytes optimizer_bytes(const Graph& graph, const ops::Precision& precision,
                      ops::Optimizer optimizer) {
  const std::int64_t copies =
      ops::optimizer_moments(optimizer) + (ops::keeps_master_weights(precision) ? 1 : 0);
  return ops::bytes_of(graph.parameters * copies, DType::Fp32);
}

}  // namespace

MemoryEstimate memory(const Graph& graph, const MemoryOptions& options) {
  const ops::Precision precision = graph::precision_of(graph);
  const bool train = graph.step == graph::Step::Train;
  MemoryEstimate estimate;
  estimate.weights = weight_bytes(graph);
  estimate.kv_cache = graph::cache_bytes(graph);
  const ActivationBytes bytes = activations(graph, options.activations);
  estimate.activations = bytes.peak;
  estimate.kept = bytes.kept;
  if (!train) return estimate;
  estimate.gradients = estimate.weights;
  if (options.optimizer) {
    estimate.optimizer = optimizer_bytes(graph, precision, *options.optimizer);
  }
  return estimate;
}

}  // namespace rooftile::aggregate
