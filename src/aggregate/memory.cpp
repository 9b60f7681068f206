// SPDX-License-Identifier: Apache-2.0
#include "aggregate/memory.h"

namespace rooftile::aggregate {

namespace {

using graph::Block;
using graph::Graph;
using graph::Node;

bool holds_matrix(const ops::AnyOp& op) {
  return std::holds_alternative<ops::Linear>(op) || std::holds_alternative<ops::Conv2d>(op) ||
         std::holds_alternative<ops::ExpertLinear>(op);
}

Bytes weight_bytes(const Graph& graph, const ops::Precision& precision, bool train) {
  Bytes total =
      ops::bytes_of(graph.idle_parameters, train ? precision.storage : precision.matrix_storage);
  for (const Block& block : graph.blocks) {
    for (const Node& node : block.nodes) {
      const DType dtype =
          holds_matrix(node.op) && !train ? precision.matrix_storage : precision.storage;
      total += ops::bytes_of(ops::parameters_of(node.op) - node.shared_parameters, dtype) *
               static_cast<double>(node.count * block.repeat);
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

Bytes cache_bytes(const graph::KvCache& cache, const ops::Precision& precision) {
  const double tokens =
      static_cast<double>(cache.tokens) * static_cast<double>(cache.layers - cache.window_layers) +
      static_cast<double>(cache.window_tokens) * static_cast<double>(cache.window_layers);
  const double vectors =
      2.0 * tokens * static_cast<double>(cache.kv_heads) * static_cast<double>(cache.batch);
  return ops::bytes_of(cache.head_dim, precision.storage) * vectors;
}

}  // namespace

MemoryEstimate memory(const Graph& graph, const MemoryOptions& options) {
  const ops::Precision precision = ops::precision_of(graph.dtype);
  const bool train = graph.step == graph::Step::Train;
  MemoryEstimate estimate;
  estimate.weights = weight_bytes(graph, precision, train);
  if (graph.kv_cache) estimate.kv_cache = cache_bytes(*graph.kv_cache, precision);
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
