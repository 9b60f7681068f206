// SPDX-License-Identifier: Apache-2.0
//
// The tensors of a graph as its kernels see them: what each kernel reads and makes, and what it
// keeps for its backward pass. A kernel of several nodes (a compiler's) holds what lies between
// them in registers; for the backward pass it keeps such a tensor or makes it again from its
// inputs, whichever takes less memory.
#pragma once

#include <cstddef>
#include <optional>
#include <set>
#include <vector>

#include "aggregate/tensors.h"
#include "core/units.h"
#include "graph/graph.h"

namespace rooftile::aggregate {

struct KernelTensors {
  std::vector<std::size_t> nodes;  ///< in the block, in order
  std::vector<Source> reads;       ///< from outside the kernel, each once
  std::vector<TensorId> makes;     ///< into memory
  std::vector<Source> kept;        ///< training: for the backward pass, each once
  Bytes kept_extra;                ///< masks, statistics, indices
};

class KernelTable {
 public:
  /// With `compiled`, nodes run as execution::fused_kernels() says, else each alone.
  KernelTable(const graph::Graph& graph, bool compiled);

  [[nodiscard]] const std::vector<KernelTensors>& kernels(std::size_t block) const {
    return blocks_[block];
  }
  [[nodiscard]] const TensorTable& tensors() const { return tensors_; }
  /// The last block that reads a tensor of an earlier one by its name.
  [[nodiscard]] std::optional<std::size_t> last_block(TensorId tensor) const;
  /// All tensors that later blocks read by name.
  [[nodiscard]] const std::map<TensorId, std::size_t>& last_blocks() const { return last_block_; }
  /// What "input" is in the last repetition of a block; none for the model's own input.
  [[nodiscard]] std::optional<TensorId> input(std::size_t block) const;

 private:
  void add_block(std::size_t block, const std::vector<std::size_t>& kernel_of);
  void find_made(std::size_t block);
  void find_kept(std::size_t block);
  void shrink_kept();

  const graph::Graph& graph_;
  TensorTable tensors_;
  std::vector<std::vector<KernelTensors>> blocks_;
  std::map<TensorId, std::size_t> last_block_;
};

}  // namespace rooftile::aggregate
