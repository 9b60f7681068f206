// SPDX-License-Identifier: Apache-2.0
#include "aggregate/memory.h"

#include <map>
#include <set>
#include <vector>

#include "aggregate/tensors.h"

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

/// In which repetitions of its block a tensor is kept.
struct Kept {
  bool early = false;  ///< all but the last
  bool last = false;
};

/// What training keeps between the forward and the backward pass.
class SavedTensors {
 public:
  SavedTensors(const Graph& graph, const ops::Precision& precision)
      : graph_(graph), precision_(precision), tensors_(graph) {}

  Bytes all() {
    Bytes extra;
    for (std::size_t b = 0; b < graph_.blocks.size(); ++b) {
      const Block& block = graph_.blocks[b];
      for (std::size_t n = 0; n < block.nodes.size(); ++n) {
        extra += visit_saved({.block = b, .node = n}, [&](const Source& s) { keep(b, s); }) *
                 static_cast<double>(block.repeat);
      }
    }
    return kept_bytes() + extra;
  }

  Bytes recomputed() {
    Bytes largest;
    for (std::size_t b = 0; b < graph_.blocks.size(); ++b) {
      Bytes once;
      std::set<TensorId> inside;
      for (std::size_t n = 0; n < graph_.blocks[b].nodes.size(); ++n) {
        const TensorId node{.block = b, .node = n};
        for (const Source& source : tensors_.inputs(node)) {
          if (source.origin != Origin::Local) keep(b, source);
        }
        once += visit_saved(node, [&](const Source& s) {
          if (s.origin == Origin::Local) inside.insert(*s.tensor);
        });
      }
      for (const TensorId tensor : inside) once += tensors_.size(tensor);
      largest = max(largest, once);
    }
    return kept_bytes() + largest;
  }

 private:
  /// Calls `visit` with each tensor that the node keeps; returns the bytes of what has no name.
  template <typename Visit>
  Bytes visit_saved(TensorId id, const Visit& visit) const {
    const Node& node = graph_.blocks[id.block].nodes[id.node];
    if (!node.differentiable) return {};
    const ops::Saved saved = ops::saved_for_backward(
        node.op, {.precision = precision_, .input_gradient = node.input_gradient});
    const std::vector<Source>& inputs = tensors_.inputs(id);
    // Operands without a producer are constants, which exist anyway.
    for (std::size_t i = 0; i < inputs.size() && i < 32; ++i) {
      if (((saved.inputs >> i) & 1U) != 0) visit(inputs[i]);
    }
    if (saved.output) visit(tensors_.output(id));
    return saved.extra * static_cast<double>(node.count);
  }

  void keep(std::size_t block, const Source& source) {
    if (source.origin == Origin::Local) {
      kept_[*source.tensor] = {.early = true, .last = true};
      return;
    }
    if (source.tensor) kept_[*source.tensor].last = true;
    if (source.origin != Origin::Input || graph_.blocks[block].repeat == 1) return;
    // Later repetitions get what the one before made.
    const Source output = tensors_.block_output(block);
    if (output.origin == Origin::Local) kept_[*output.tensor].early = true;
  }

  [[nodiscard]] Bytes kept_bytes() const {
    Bytes total;
    for (const auto& [tensor, kept] : kept_) {
      const std::int64_t repetitions =
          (kept.early ? graph_.blocks[tensor.block].repeat - 1 : 0) + (kept.last ? 1 : 0);
      total += tensors_.size(tensor) * static_cast<double>(repetitions);
    }
    return total;
  }

  const Graph& graph_;
  const ops::Precision& precision_;
  TensorTable tensors_;
  std::map<TensorId, Kept> kept_;
};

/// Inference: nodes run in order, a tensor lives from its node to its last reader.
class LiveTensors {
 public:
  explicit LiveTensors(const Graph& graph) : graph_(graph), tensors_(graph) {
    for (std::size_t b = 0; b < graph.blocks.size(); ++b) {
      for (std::size_t n = 0; n < graph.blocks[b].nodes.size(); ++n) {
        for (const Source& source : tensors_.inputs({.block = b, .node = n})) {
          if (source.origin == Origin::Earlier && source.tensor) last_block_[*source.tensor] = b;
        }
      }
    }
  }

  [[nodiscard]] Bytes peak() const {
    Bytes peak;
    for (std::size_t b = 0; b < graph_.blocks.size(); ++b) peak = max(peak, peak_of(b));
    return peak;
  }

 private:
  /// Tensors of earlier blocks that this or a later block reads by name.
  [[nodiscard]] std::set<TensorId> held(std::size_t block) const {
    std::set<TensorId> tensors;
    for (const auto& [tensor, last] : last_block_) {
      if (tensor.block < block && block <= last) tensors.insert(tensor);
    }
    return tensors;
  }

  /// The index of the last node that reads each tensor; nodes.size() when a later block does.
  [[nodiscard]] std::map<TensorId, std::size_t> last_readers(std::size_t b) const {
    const std::size_t count = graph_.blocks[b].nodes.size();
    std::map<TensorId, std::size_t> last;
    for (std::size_t n = 0; n < count; ++n) {
      for (const Source& source : tensors_.inputs({.block = b, .node = n})) {
        if (source.tensor) last[*source.tensor] = n;
      }
    }
    if (const Source output = tensors_.block_output(b); output.tensor) last[*output.tensor] = count;
    for (const auto& [tensor, block] : last_block_) {
      if (block > b && tensor.block <= b) last[tensor] = count;
    }
    return last;
  }

  [[nodiscard]] Bytes peak_of(std::size_t b) const {
    const Block& block = graph_.blocks[b];
    const std::map<TensorId, std::size_t> last = last_readers(b);
    std::set<TensorId> alive = held(b);
    if (b > 0) {
      if (const auto entry = tensors_.block_output(b - 1).tensor) alive.insert(*entry);
    }
    Bytes live;
    for (const TensorId tensor : alive) live += tensors_.size(tensor);
    Bytes peak = live;
    std::vector<std::vector<TensorId>> dying(block.nodes.size());
    for (const auto& [tensor, n] : last) {
      if (n < dying.size() && tensor.block <= b) dying[n].push_back(tensor);
    }
    for (std::size_t n = 0; n < block.nodes.size(); ++n) {
      const TensorId made{.block = b, .node = n};
      if (tensors_.makes_tensor(made)) {
        alive.insert(made);
        live += tensors_.size(made);
        if (!last.contains(made)) dying[n].push_back(made);
      }
      peak = max(peak, live);
      for (const TensorId tensor : dying[n]) {
        if (alive.erase(tensor) != 0) live -= tensors_.size(tensor);
      }
    }
    return peak;
  }

  const Graph& graph_;
  TensorTable tensors_;
  std::map<TensorId, std::size_t> last_block_;
};

}  // namespace

MemoryEstimate memory(const Graph& graph, const MemoryOptions& options) {
  const ops::Precision precision = ops::precision_of(graph.dtype);
  const bool train = graph.step == graph::Step::Train;
  MemoryEstimate estimate;
  estimate.weights = weight_bytes(graph, precision, train);
  if (graph.kv_cache) estimate.kv_cache = cache_bytes(*graph.kv_cache, precision);
  if (!train) {
    estimate.activations = LiveTensors(graph).peak();
    return estimate;
  }
  estimate.gradients = estimate.weights;
  if (options.optimizer) {
    estimate.optimizer = optimizer_bytes(graph, precision, *options.optimizer);
  }
  SavedTensors saved(graph, precision);
  estimate.activations = options.recompute ? saved.recomputed() : saved.all();
  return estimate;
}

}  // namespace rooftile::aggregate
