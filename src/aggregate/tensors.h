// SPDX-License-Identifier: Apache-2.0
//
// Which tensor a name in a graph stands for. Views share the bytes of what they look at, "input"
// is the output of the previous block or of the previous repetition, "block.node" is a tensor of an
// earlier block. Every node that is not a view of something makes one tensor.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/units.h"
#include "graph/graph.h"

namespace rooftile::aggregate {

/// A tensor by the node that makes it.
struct TensorId {
  std::size_t block = 0, node = 0;
  auto operator<=>(const TensorId&) const = default;
};

enum class Origin : std::uint8_t {
  Local,    ///< made in the same block, anew in each repetition
  Input,    ///< the block's input
  Earlier,  ///< made by an earlier block, in its last repetition
};

struct Source {
  Origin origin = Origin::Input;
  /// For Input: what the first repetition gets. Absent when the model's own input is meant, which
  /// has no node and no known size.
  std::optional<TensorId> tensor;
  auto operator<=>(const Source&) const = default;
};

class TensorTable {
 public:
  explicit TensorTable(const graph::Graph& graph);

  /// The tensors behind the inputs of a node, in order.
  [[nodiscard]] const std::vector<Source>& inputs(TensorId node) const {
    return blocks_[node.block].inputs[node.node];
  }
  /// The tensor that a node makes or, for a view, looks at.
  [[nodiscard]] const Source& output(TensorId node) const {
    return blocks_[node.block].outputs[node.node];
  }
  /// The output of a block as it sees it; its own input when it has no nodes.
  [[nodiscard]] Source block_output(std::size_t block) const;
  /// True when the node makes a tensor of its own.
  [[nodiscard]] bool makes_tensor(TensorId node) const;
  /// One repetition's bytes.
  [[nodiscard]] Bytes size(TensorId tensor) const;

 private:
  struct BlockTensors {
    std::vector<std::vector<Source>> inputs;
    std::vector<Source> outputs;
    std::optional<TensorId> entry;  ///< what "input" is in the first repetition
  };
  using Names = std::map<std::string, Source, std::less<>>;
  void add_block(std::size_t index, Names& published);

  const graph::Graph& graph_;
  DType storage_;
  std::vector<BlockTensors> blocks_;
};

}  // namespace rooftile::aggregate
