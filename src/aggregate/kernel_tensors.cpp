// SPDX-License-Identifier: Apache-2.0
#include "aggregate/kernel_tensors.h"

#include <algorithm>
#include <utility>

#include "execution/fuse.h"

namespace rooftile::aggregate {

namespace {

using graph::Block;
using graph::Graph;
using graph::Node;

bool contains(const std::vector<Source>& list, const Source& source) {
  return std::find(list.begin(), list.end(), source) != list.end();
}

void add_once(std::vector<Source>& list, const Source& source) {
  if (!contains(list, source)) list.push_back(source);
}

bool made_by(const KernelTensors& kernel, std::size_t block, const Source& source) {
  return source.origin == Origin::Local && source.tensor && source.tensor->block == block &&
         std::find(kernel.nodes.begin(), kernel.nodes.end(), source.tensor->node) !=
             kernel.nodes.end();
}

std::vector<std::size_t> each_alone(const Block& block) {
  std::vector<std::size_t> own(block.nodes.size());
  for (std::size_t n = 0; n < own.size(); ++n) own[n] = n;
  return own;
}

}  // namespace

KernelTable::KernelTable(const Graph& graph, bool compiled) : graph_(graph), tensors_(graph) {
  for (std::size_t b = 0; b < graph.blocks.size(); ++b) {
    for (std::size_t n = 0; n < graph.blocks[b].nodes.size(); ++n) {
      for (const Source& source : tensors_.inputs({.block = b, .node = n})) {
        if (source.origin == Origin::Earlier && source.tensor) last_block_[*source.tensor] = b;
      }
    }
  }
  const auto fused =
      compiled ? execution::fused_kernels(graph) : std::vector<std::vector<std::size_t>>{};
  for (std::size_t b = 0; b < graph.blocks.size(); ++b) {
    add_block(b, compiled ? fused[b] : each_alone(graph.blocks[b]));
    find_made(b);
  }
  if (graph.step != graph::Step::Train) return;
  for (std::size_t b = 0; b < graph.blocks.size(); ++b) find_kept(b);
  shrink_kept();
}

std::optional<std::size_t> KernelTable::last_block(TensorId tensor) const {
  const auto found = last_block_.find(tensor);
  return found == last_block_.end() ? std::nullopt : std::optional(found->second);
}

std::optional<TensorId> KernelTable::input(std::size_t block) const {
  if (graph_.blocks[block].repeat > 1) {
    const Source output = tensors_.block_output(block);
    if (output.origin == Origin::Local) return output.tensor;
  }
  return block > 0 ? tensors_.block_output(block - 1).tensor : std::nullopt;
}

void KernelTable::add_block(std::size_t block, const std::vector<std::size_t>& kernel_of) {
  std::vector<KernelTensors> kernels;
  for (std::size_t last = 0; last < kernel_of.size(); ++last) {
    if (kernel_of[last] != last) continue;
    KernelTensors kernel;
    for (std::size_t n = 0; n <= last; ++n) {
      if (kernel_of[n] == last) kernel.nodes.push_back(n);
    }
    for (const std::size_t n : kernel.nodes) {
      for (const Source& source : tensors_.inputs({.block = block, .node = n})) {
        if (!made_by(kernel, block, source)) add_once(kernel.reads, source);
      }
    }
    kernels.push_back(std::move(kernel));
  }
  blocks_.push_back(std::move(kernels));
}

/// A tensor is in memory unless all of its readers are in the kernel that makes it.
void KernelTable::find_made(std::size_t block) {
  std::set<TensorId> read;  // by another kernel
  for (const KernelTensors& kernel : blocks_[block]) {
    for (const Source& source : kernel.reads) {
      if (source.tensor) read.insert(*source.tensor);
    }
  }
  const Source output = tensors_.block_output(block);
  for (KernelTensors& kernel : blocks_[block]) {
    for (const std::size_t n : kernel.nodes) {
      const TensorId made{.block = block, .node = n};
      if (!tensors_.makes_tensor(made)) continue;
      if (n == kernel.nodes.back() || read.contains(made) || output.tensor == made ||
          last_block_.contains(made)) {
        kernel.makes.push_back(made);
      }
    }
  }
}

void KernelTable::find_kept(std::size_t block) {
  const ops::Precision precision = ops::precision_of(graph_.dtype);
  for (KernelTensors& kernel : blocks_[block]) {
    for (const std::size_t n : kernel.nodes) {
      const TensorId id{.block = block, .node = n};
      const Node& node = graph_.blocks[block].nodes[n];
      if (!node.differentiable) continue;
      const ops::Saved saved = ops::saved_for_backward(
          node.op, {.precision = precision, .input_gradient = node.input_gradient});
      const std::vector<Source>& inputs = tensors_.inputs(id);
      // Operands without a producer are constants, which exist anyway.
      for (std::size_t i = 0; i < inputs.size() && i < 32; ++i) {
        if (((saved.inputs >> i) & 1U) != 0) add_once(kernel.kept, inputs[i]);
      }
      if (saved.output) add_once(kernel.kept, tensors_.output(id));
      // Compiled, a dropout draws its mask again from the seed.
      const bool drawn = kernel.nodes.size() > 1 && std::holds_alternative<ops::Dropout>(node.op);
      if (!drawn) kernel.kept_extra += saved.extra * static_cast<double>(node.count);
    }
  }
}

/// Tensors between the nodes of a kernel are made again from its inputs where keeping the inputs
/// that nobody else keeps takes less. The sum over all kernels can only become smaller.
void KernelTable::shrink_kept() {
  const auto between = [](const KernelTensors& kernel, std::size_t block, const Source& source) {
    return made_by(kernel, block, source) && std::find(kernel.makes.begin(), kernel.makes.end(),
                                                       *source.tensor) == kernel.makes.end();
  };
  std::set<std::pair<std::size_t, Source>> kept;  // by whom matters for "input" alone
  const auto key = [](std::size_t block, const Source& source) {
    return std::pair(source.origin == Origin::Input ? block : 0, source);
  };
  for (std::size_t b = 0; b < blocks_.size(); ++b) {
    for (const KernelTensors& kernel : blocks_[b]) {
      for (const Source& source : kernel.kept) {
        if (!between(kernel, b, source)) kept.insert(key(b, source));
      }
    }
  }
  const auto size = [&](const Source& source) {
    return source.tensor ? tensors_.size(*source.tensor) : Bytes{};
  };
  for (std::size_t b = 0; b < blocks_.size(); ++b) {
    for (KernelTensors& kernel : blocks_[b]) {
      std::vector<Source> inside, outside;
      for (const Source& source : kernel.kept) {
        (between(kernel, b, source) ? inside : outside).push_back(source);
      }
      if (inside.empty()) continue;
      Bytes keeping, again;
      for (const Source& source : inside) keeping += size(source);
      for (const Source& source : kernel.reads) {
        if (!kept.contains(key(b, source))) again += size(source);
      }
      if (again <= keeping) {
        for (const Source& source : kernel.reads) {
          add_once(outside, source);
          kept.insert(key(b, source));
        }
        kernel.kept = std::move(outside);
      } else {
        for (const Source& source : inside) kernel.makes.push_back(*source.tensor);
      }
    }
  }
}

}  // namespace rooftile::aggregate
