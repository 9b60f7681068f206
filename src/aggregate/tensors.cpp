// SPDX-License-Identifier: Apache-2.0
#include "aggregate/tensors.h"

#include <utility>

namespace rooftile::aggregate {

TensorTable::TensorTable(const graph::Graph& graph)
    : graph_(graph), storage_(ops::precision_of(graph.dtype).storage) {
  Names published;
  for (std::size_t i = 0; i < graph.blocks.size(); ++i) add_block(i, published);
}

void TensorTable::add_block(std::size_t index, Names& published) {
  const graph::Block& block = graph_.blocks[index];
  BlockTensors made;
  if (index > 0) made.entry = block_output(index - 1).tensor;
  const Source input{.origin = Origin::Input, .tensor = made.entry};
  Names local;
  for (std::size_t n = 0; n < block.nodes.size(); ++n) {
    const graph::Node& node = block.nodes[n];
    std::vector<Source> inputs;
    for (const std::string& name : node.inputs) {
      if (const auto here = local.find(name); here != local.end()) {
        inputs.push_back(here->second);
      } else if (const auto there = published.find(name); there != published.end()) {
        inputs.push_back(there->second);
      } else {
        inputs.push_back(input);
      }
    }
    const bool looks = std::holds_alternative<ops::View>(node.op) && !inputs.empty();
    const Source output =
        looks ? inputs.front()
              : Source{.origin = Origin::Local, .tensor = TensorId{.block = index, .node = n}};
    local.emplace(node.name, output);
    made.inputs.push_back(std::move(inputs));
    made.outputs.push_back(output);
  }
  blocks_.push_back(std::move(made));
  for (const auto& [name, source] : local) {
    published.emplace(block.name + "." + name,
                      Source{.origin = Origin::Earlier, .tensor = source.tensor});
  }
}

Source TensorTable::block_output(std::size_t block) const {
  const BlockTensors& tensors = blocks_[block];
  if (tensors.outputs.empty()) return {.origin = Origin::Input, .tensor = tensors.entry};
  return tensors.outputs.back();
}

bool TensorTable::makes_tensor(TensorId node) const {
  const Source& source = output(node);
  return source.origin == Origin::Local && source.tensor == node;
}

Bytes TensorTable::size(TensorId tensor) const {
  const graph::Node& node = graph_.blocks[tensor.block].nodes[tensor.node];
  return ops::bytes_of(ops::output_of(node.op).elements(), storage_) *
         static_cast<double>(node.count);
}

}  // namespace rooftile::aggregate
