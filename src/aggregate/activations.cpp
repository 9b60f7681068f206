// SPDX-License-Identifier: Apache-2.0
#include "aggregate/activations.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <variant>
#include <vector>

#include "aggregate/kernel_tensors.h"

namespace rooftile::aggregate {

namespace {

using graph::Block;
using graph::Graph;
using graph::Node;

/// In which repetitions of its block a tensor is kept for the backward pass, and for whom.
struct Kept {
  bool early = false;  ///< all but the last
  bool last = false;
  std::size_t last_needed = 0;  ///< the first block, in forward order, that needs the last one
};

/// The gradient of a block's "input", in addition to those of its tensors.
constexpr std::size_t kInputNode = static_cast<std::size_t>(-1);

class Walk {
 public:
  Walk(const Graph& graph, const ActivationOptions& options)
      : graph_(graph),
        recompute_(options.recompute),
        received_(options.received),
        table_(graph, options.compiled),
        tensors_(table_.tensors()) {
    if (graph.step != graph::Step::Train) return;
    for (std::size_t b = 0; b < graph.blocks.size(); ++b) {
      for (const KernelTensors& kernel : table_.kernels(b)) {
        for (const Source& source : recompute_ ? kernel.reads : kernel.kept) {
          if (!recompute_ || source.origin != Origin::Local) keep(b, source);
        }
      }
    }
  }

  /// The most that lives in the forward pass.
  [[nodiscard]] Bytes forward_peak() const {
    Bytes peak;
    for (std::size_t b = 0; b < graph_.blocks.size(); ++b) {
      peak = max(peak, kept_before(b) + forward_peak(b, kept_of(b), !recompute_));
    }
    return peak;
  }

  [[nodiscard]] Bytes kept() const {
    return graph_.blocks.empty() ? Bytes{} : kept_until(graph_.blocks.size() - 1);
  }

  /// The most that lives in the backward pass.
  [[nodiscard]] Bytes backward_peak() {
    Bytes peak;
    for (std::size_t b = graph_.blocks.size(); b-- > 0;) peak = max(peak, backward_peak(b));
    return peak;
  }

 private:
  using Tensors = std::set<TensorId>;

  void keep(std::size_t block, const Source& source) {
    const auto keep_last = [&](TensorId tensor) {
      Kept& kept = kept_[tensor];
      kept.last_needed = kept.last ? std::min(kept.last_needed, block) : block;
      kept.last = true;
    };
    if (source.origin == Origin::Local) {
      keep_last(*source.tensor);
      kept_[*source.tensor].early = true;
      return;
    }
    if (source.tensor) keep_last(*source.tensor);
    keeps_received_ = keeps_received_ || (block == 0 && source.origin == Origin::Input);
    if (source.origin != Origin::Input || graph_.blocks[block].repeat == 1) return;
    // Later repetitions get what the one before made.
    const Source output = tensors_.block_output(block);
    if (output.origin == Origin::Local) kept_[*output.tensor].early = true;
  }

  [[nodiscard]] double repeat(std::size_t block) const {
    return static_cast<double>(graph_.blocks[block].repeat);
  }

  /// Masks and statistics of one repetition.
  [[nodiscard]] Bytes extra(std::size_t block) const {
    Bytes sum;
    for (const KernelTensors& kernel : table_.kernels(block)) sum += kernel.kept_extra;
    return sum;
  }

  /// Kept by the blocks before and the earlier repetitions of `block` when its last one starts.
  [[nodiscard]] Bytes kept_before(std::size_t block) const {
    Bytes sum = keeps_received_ ? received_ : Bytes{};
    for (const auto& [tensor, kept] : kept_) {
      if (tensor.block > block) continue;
      const double early = kept.early ? repeat(tensor.block) - 1 : 0.0;
      const double last = kept.last && tensor.block < block ? 1.0 : 0.0;
      sum += tensors_.size(tensor) * (early + last);
    }
    if (recompute_) return sum;
    for (std::size_t b = 0; b < block; ++b) sum += extra(b) * repeat(b);
    return sum + extra(block) * std::max(0.0, repeat(block) - 1);
  }

  /// Kept when the backward pass of `block` starts, by it and the blocks before.
  [[nodiscard]] Bytes kept_until(std::size_t block) const {
    Bytes sum = keeps_received_ ? received_ : Bytes{};
    for (const auto& [tensor, kept] : kept_) {
      if (tensor.block > block) continue;
      const double early = kept.early ? repeat(tensor.block) - 1 : 0.0;
      const double last = kept.last && kept.last_needed <= block ? 1.0 : 0.0;
      sum += tensors_.size(tensor) * (early + last);
    }
    for (std::size_t b = 0; b <= block && !recompute_; ++b) sum += extra(b) * repeat(b);
    return sum;
  }

  /// Tensors of the last repetition of `block` that stay when nobody reads them any more.
  [[nodiscard]] Tensors kept_of(std::size_t block) const {
    Tensors stay;
    for (const auto& [tensor, kept] : kept_) {
      if (tensor.block <= block && kept.last) stay.insert(tensor);
    }
    return stay;
  }

  /// What the kernels of one repetition keep of their own block.
  [[nodiscard]] Tensors kept_inside(std::size_t block) const {
    Tensors inside;
    for (const KernelTensors& kernel : table_.kernels(block)) {
      for (const Source& source : kernel.kept) {
        if (source.origin == Origin::Local) inside.insert(*source.tensor);
      }
    }
    return inside;
  }

  /// The index of the last kernel that reads each tensor; one beyond when a later block does.
  [[nodiscard]] std::map<TensorId, std::size_t> last_readers(std::size_t block) const {
    const std::vector<KernelTensors>& kernels = table_.kernels(block);
    std::map<TensorId, std::size_t> last;
    for (std::size_t k = 0; k < kernels.size(); ++k) {
      for (const Source& source : kernels[k].reads) {
        if (source.tensor) last[*source.tensor] = k;
      }
    }
    if (const Source output = tensors_.block_output(block); output.tensor) {
      last[*output.tensor] = kernels.size();
    }
    for (const auto& [tensor, reader] : table_.last_blocks()) {
      if (reader > block && tensor.block <= block) last[tensor] = kernels.size();
    }
    return last;
  }

  /// Of the last repetition of a block; `stay`: tensors that are not let go of, those of earlier
  /// blocks among them are not counted. `extras`: masks and statistics stay as well.
  [[nodiscard]] Bytes forward_peak(std::size_t block, const Tensors& stay, bool extras) const {
    const std::vector<KernelTensors>& kernels = table_.kernels(block);
    const std::map<TensorId, std::size_t> last = last_readers(block);
    Tensors alive;
    Bytes live = block == 0 && !keeps_received_ ? received_ : Bytes{};
    const auto bring = [&](TensorId tensor) {
      if (alive.insert(tensor).second) live += tensors_.size(tensor);
    };
    for (const auto& [tensor, reader] : table_.last_blocks()) {
      if (tensor.block < block && block <= reader && !stay.contains(tensor)) bring(tensor);
    }
    if (block > 0) {
      const auto entry = tensors_.block_output(block - 1).tensor;
      if (entry && !stay.contains(*entry)) bring(*entry);
    }
    Bytes peak = live;
    for (std::size_t k = 0; k < kernels.size(); ++k) {
      for (const TensorId made : kernels[k].makes) bring(made);
      if (extras) live += kernels[k].kept_extra;
      peak = max(peak, live);
      const auto let_go = [&](TensorId tensor) {
        const auto reader = last.find(tensor);
        const bool read_later = reader != last.end() && reader->second > k;
        if (read_later || stay.contains(tensor) || alive.erase(tensor) == 0) return;
        live -= tensors_.size(tensor);
      };
      for (const TensorId made : kernels[k].makes) let_go(made);
      for (const Source& source : kernels[k].reads) {
        if (source.tensor) let_go(*source.tensor);
      }
    }
    return peak;
  }

  /// The key of a tensor's gradient, if it gets one.
  [[nodiscard]] std::optional<TensorId> gradient_of(std::size_t block, const Source& source) const {
    const auto tensor = source.origin == Origin::Input ? table_.input(block) : source.tensor;
    if (!tensor || !graph_.blocks[tensor->block].nodes[tensor->node].differentiable) return {};
    return source.origin == Origin::Input ? TensorId{.block = block, .node = kInputNode} : *tensor;
  }

  [[nodiscard]] Bytes gradient_size(TensorId gradient) const {
    return tensors_.size(gradient.node == kInputNode ? *table_.input(gradient.block) : gradient);
  }

  /// The gradients that the backward pass of a kernel makes.
  [[nodiscard]] Tensors gradients_made(std::size_t block, const KernelTensors& kernel) const {
    Tensors made;
    for (const std::size_t n : kernel.nodes) {
      const Node& node = graph_.blocks[block].nodes[n];
      if (!node.differentiable || !node.input_gradient) continue;
      const std::vector<Source>& inputs = tensors_.inputs({.block = block, .node = n});
      const auto* pointwise = std::get_if<ops::Elementwise>(&node.op);
      const bool first_only = pointwise != nullptr && !pointwise->second_gradient;
      for (std::size_t i = 0; i < inputs.size() && !(first_only && i > 0); ++i) {
        if (std::find(kernel.reads.begin(), kernel.reads.end(), inputs[i]) == kernel.reads.end()) {
          continue;  // between the nodes of the kernel
        }
        if (const auto gradient = gradient_of(block, inputs[i])) made.insert(*gradient);
      }
    }
    return made;
  }

  /// The gradient of a sum is that of its first operand.
  [[nodiscard]] bool passes_on(std::size_t block, const KernelTensors& kernel) const {
    const auto* pointwise =
        std::get_if<ops::Elementwise>(&graph_.blocks[block].nodes[kernel.nodes.front()].op);
    return kernel.nodes.size() == 1 && pointwise != nullptr &&
           (pointwise->function == ops::Function::Add || pointwise->function == ops::Function::Sub);
  }

  /// What a block keeps, by the first of its kernels that does: there it is let go of.
  [[nodiscard]] std::vector<Bytes> let_go_of(std::size_t block) const {
    const std::vector<KernelTensors>& kernels = table_.kernels(block);
    const Tensors inside = kept_inside(block);
    std::vector<Bytes> bytes(kernels.size());
    Tensors seen;
    bool input_seen = recompute_;  // there it is needed up to the end
    for (std::size_t k = 0; k < kernels.size(); ++k) {
      bytes[k] += kernels[k].kept_extra;
      for (const Source& source : kernels[k].kept) {
        if (source.origin == Origin::Local && seen.insert(*source.tensor).second) {
          bytes[k] += tensors_.size(*source.tensor);
        }
        if (source.origin != Origin::Input || std::exchange(input_seen, true)) continue;
        const auto input = table_.input(block);
        if (!input) continue;
        const bool needed =
            input->block == block ? inside.contains(*input) : kept_.at(*input).last_needed < block;
        if (!needed) bytes[k] += tensors_.size(*input);
      }
    }
    return bytes;
  }

  /// Of the last repetition of a block, on top of everything that is kept for the others.
  Bytes backward_peak(std::size_t block) {
    const std::vector<KernelTensors>& kernels = table_.kernels(block);
    if (block + 1 == graph_.blocks.size()) {
      if (const auto output = tensors_.block_output(block).tensor) bring(*output);
    }
    Bytes kept = kept_until(block);
    Bytes peak;
    if (recompute_) {
      Tensors stay = kept_of(block);
      const Tensors inside = kept_inside(block);
      stay.insert(inside.begin(), inside.end());
      peak = kept + forward_peak(block, stay, true) + gradient_bytes_;
      for (const TensorId tensor : inside) kept += tensors_.size(tensor);
      kept += extra(block);
    }
    const std::vector<Bytes> let_go = let_go_of(block);
    const std::map<TensorId, std::size_t> readers = last_readers(block);
    for (std::size_t k = kernels.size(); k-- > 0;) {
      if (graph_.blocks[block].nodes[kernels[k].nodes.front()].differentiable) {
        for (const TensorId made : kernels[k].makes) {  // an output of the model
          if (!readers.contains(made)) bring(made);
        }
        peak = max(peak, kept + run_backward(block, kernels[k]));
      }
      kept -= let_go[k];
    }
    hand_on(block);
    return peak;
  }

  /// Gradients that live while the backward pass of a kernel runs; afterwards those of its outputs
  /// are gone.
  Bytes run_backward(std::size_t block, const KernelTensors& kernel) {
    const bool reached = std::any_of(kernel.makes.begin(), kernel.makes.end(),
                                     [&](TensorId made) { return gradients_.contains(made); });
    if (!reached) return gradient_bytes_;
    bool passed = !passes_on(block, kernel);
    Bytes temporary;
    for (const TensorId gradient : gradients_made(block, kernel)) {
      if (gradients_.contains(gradient)) {
        temporary += gradient_size(gradient);  // and added to the one that is there
      } else if (!std::exchange(passed, true)) {
        drop(kernel.makes.front());  // the same bytes under another name
        bring(gradient);
      } else {
        bring(gradient);
      }
    }
    const Bytes live = gradient_bytes_ + temporary;
    for (const TensorId made : kernel.makes) drop(made);
    return live;
  }

  /// The gradient of a block's input is that of the output of the block before.
  void hand_on(std::size_t block) {
    const TensorId input{.block = block, .node = kInputNode};
    if (!gradients_.contains(input)) return;
    drop(input);
    if (block == 0) return;
    if (const auto output = tensors_.block_output(block - 1).tensor) bring(*output);
  }

  void bring(TensorId gradient) {
    if (gradients_.insert(gradient).second) gradient_bytes_ += gradient_size(gradient);
  }
  void drop(TensorId gradient) {
    if (gradients_.erase(gradient) != 0) gradient_bytes_ -= gradient_size(gradient);
  }

  const Graph& graph_;
  bool recompute_;
  Bytes received_;
  bool keeps_received_ = false;
  KernelTable table_;
  const TensorTable& tensors_;
  std::map<TensorId, Kept> kept_;
  Tensors gradients_;  ///< of activations, alive
  Bytes gradient_bytes_;
};

ActivationBytes walk(const Graph& graph, const ActivationOptions& options) {
  Walk walk(graph, options);
  const Bytes forward = walk.forward_peak();
  if (graph.step != graph::Step::Train) return {.peak = forward, .kept = {}};
  return {.peak = max(forward, walk.backward_peak()), .kept = walk.kept()};
}

}  // namespace

ActivationBytes activations(const Graph& graph, const ActivationOptions& options) {
  ActivationBytes bytes = walk(graph, options);
  if (!options.compiled) return bytes;
  // A kernel of many inputs holds them all at once: compilers cut it where that costs memory.
  ActivationOptions eager = options;
  eager.compiled = false;
  const ActivationBytes apart = walk(graph, eager);
  return {.peak = min(bytes.peak, apart.peak), .kept = min(bytes.kept, apart.kept)};
}

}  // namespace rooftile::aggregate
