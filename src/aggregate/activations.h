// SPDX-License-Identifier: Apache-2.0
//
// Memory of a step's tensors (docs/theory/memory.md), by going through its kernels in order and
// counting what lives at the same time. A kernel is a node or, in a compiled graph, the vector
// operators that are fused into one (execution/fuse.h): what only they read is never in memory.
//
//   inference   a tensor lives from the kernel that makes it to the last one that reads it
//   training    forward, what the operators keep for the backward pass stays; then backward, each
//               kernel needs what it kept and the gradient of its outputs, makes the gradients of
//               its inputs and lets go of the former
//
// Repetitions of a block are counted, not walked through: the last one lives next to all others.
// Not counted: temporaries inside one operator, gradients of parameters other than the stored
// ones.
#pragma once

#include "core/units.h"
#include "graph/graph.h"

namespace rooftile::aggregate {

struct ActivationOptions {
  bool compiled = false;  ///< vector operators are fused
  /// Training: keep the inputs of each block only and run its forward pass again for the backward
  /// pass (activation checkpointing).
  bool recompute = false;
  Bytes received = {};  ///< the input of the first block, from the stage before
};

struct ActivationBytes {
  Bytes peak;  ///< the most that lives at any time, with gradients of activations
  Bytes kept;  ///< of one micro-batch between its forward and its backward pass; none in inference
};

/// `graph` is one that was validated and not fused; its step says whether this is training.
ActivationBytes activations(const graph::Graph& graph, const ActivationOptions& options);

}  // namespace rooftile::aggregate
