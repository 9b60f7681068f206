// SPDX-License-Identifier: Apache-2.0
//
// From operators to GPU kernels. One entry per kernel of each node, with the number of times the
// step launches it (repetitions of the block times the node's count). Forward kernels come in graph
// order, backward ones in reverse, then the optimizer's update. The graph has been validated, so
// this cannot fail.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "graph/graph.h"
#include "ops/kernel_work.h"

namespace rooftile::execution {

using graph::Block;
using graph::Graph;
using graph::Node;

enum class Phase : std::uint8_t { Forward, Backward, Accumulate, Optimizer };
/// forward backward accumulate optimizer
std::string_view name_of(Phase phase);

struct Launch {
  std::string name;  ///< "block/node", equal for all kernels of a node
  Phase phase = Phase::Forward;
  std::size_t block = 0;    ///< index in Graph::blocks; says nothing for the optimizer's update
  std::int64_t count = 1;   ///< launches per step
  std::int64_t repeat = 1;  ///< of them, repetitions of the block: count / repeat in each
  bool waits = false;       ///< the host waits for its result (boolean indexing)
  ops::KernelWork work;
  bool operator==(const Launch&) const = default;
};

/// Which kernels stand for an operator.
enum class Execution : std::uint8_t {
  Textbook,  ///< one kernel per mathematical step, as [Lee25] lists them
  Eager,     ///< those that an eager framework launches (execution/eager.h)
  Compiled,  ///< the same for a graph that went through fuse()
};

enum class Mode : std::uint8_t { Infer, Train };

/// What the kernels of an eager framework move, in tensors of the operator's own size; 0: what the
/// textbook's kernel moves. Fitted to traced nodes (cost::EagerConstants).
struct TensorsMoved {
  double dropout = 0, dropout_backward = 0, norm_backward = 0, softmax_backward = 0;
  double gelu_backward = 0, embedding = 0, where = 0;
  double strided_copy = 1;  ///< rate of a copy with a stride, over that of one without
  double accumulate = 1;    ///< share of the gradients that a kernel adds to stored ones
};

struct LaunchOptions {
  Mode mode = Mode::Infer;  ///< Train adds the backward pass
  Execution execution = Execution::Textbook;
  TensorsMoved moved = {};  ///< by the kernels of Eager and Compiled
  /// The gradients are summed into stored ones (as when they were not reset to "none" before, and
  /// with micro-batches); adds the Accumulate kernels. Ignored for inference.
  bool accumulate = true;
  /// Training: run the forward pass of each block again before its backward pass (activation
  /// checkpointing); these kernels count as Backward.
  bool recompute = false;
  std::optional<ops::Optimizer> optimizer;  ///< adds the update of all parameters; training only
};

std::vector<Launch> launches(const Graph& graph, const LaunchOptions& options);

/// The options that follow from the graph's own step: training graphs train.
LaunchOptions default_launch_options(const Graph& graph);

}  // namespace rooftile::execution
