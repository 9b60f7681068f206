// SPDX-License-Identifier: Apache-2.0
//
// Device memory that one step of a model needs, from its graph alone (docs/theory/memory.md).
//
//   weights      parameters in the storage type; with 8- and 4-bit types the matrices of inference
//                are stored in that type, everything else and all of training in BF16; quantized
//                weights with their scales, where the model's file or the request says so
//   gradients    training: one per parameter, in the type of the weights
//   optimizer    training: FP32 moments (momentum 1, Adam and AdamW 2) and, when the weights are
//                narrower than FP32, an FP32 master copy of them
//   activations  the largest set of tensors that live at the same time (aggregate/activations.h):
//                in training what the operators keep for the backward pass, each tensor once, and
//                gradients of activations
//   kv_cache     keys and values of the attention layers, in the storage type or that of the cache,
//                and the states of recurrent layers
//
// Not counted: the framework's context and cached blocks, fragmentation, workspaces of libraries,
// running statistics of batch norms.
#pragma once

#include <optional>

#include "aggregate/activations.h"
#include "core/units.h"
#include "graph/graph.h"
#include "ops/optimizer.h"

namespace rooftile::aggregate {

struct MemoryOptions {
  /// Training: the state it keeps in addition to the weights; without one the step makes no update.
  std::optional<ops::Optimizer> optimizer;
  ActivationOptions activations = {};
};

struct MemoryEstimate {
  Bytes weights, gradients, optimizer, activations, kv_cache;
  Bytes kept;  ///< of the activations: between the forward and the backward pass

  [[nodiscard]] Bytes total() const {
    return weights + gradients + optimizer + activations + kv_cache;
  }
  bool operator==(const MemoryEstimate&) const = default;
};

/// `graph` has been validated and not been fused; its step says whether this is training.
MemoryEstimate memory(const graph::Graph& graph, const MemoryOptions& options);

}  // namespace rooftile::aggregate
