// SPDX-License-Identifier: Apache-2.0
#include "execution/fuse.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <variant>

namespace rooftile::execution {

namespace {

/// What fusion needs to know of a vector operator; nothing for all others.
struct VectorNode {
  Shape shape;
  ops::KernelClass kind = ops::KernelClass::Pointwise;
  double flop_per_element = 1.0;
  std::vector<std::int64_t> reads;  ///< elements of each operand, in the order of the inputs
  [[nodiscard]] bool reduces() const { return kind != ops::KernelClass::Pointwise; }
};

std::optional<VectorNode> vector_node(const ops::AnyOp& op) {
  if (const auto* e = std::get_if<ops::Elementwise>(&op)) {
    VectorNode node{.shape = e->shape, .reads = {e->shape.elements()}};
    if (e->operands == ops::Operands::Binary) {
      node.reads.push_back(e->second > 0 ? e->second : e->shape.elements());
    }
    return node;
  }
  if (const auto* d = std::get_if<ops::Dropout>(&op)) {
    return VectorNode{.shape = d->shape, .reads = {d->shape.elements()}};
  }
  if (const auto* m = std::get_if<ops::Move>(&op)) {
    if (m->kind != ops::MoveKind::Where && m->kind != ops::MoveKind::Cast) return std::nullopt;
    return VectorNode{
        .shape = m->output(), .flop_per_element = 0.0, .reads = {m->input.elements(), m->others}};
  }
  if (const auto* s = std::get_if<ops::Softmax>(&op)) {
    return VectorNode{.shape = s->shape,
                      .kind = ops::KernelClass::Softmax,
                      .flop_per_element = 5.0,
                      .reads = {s->shape.elements()}};
  }
  const auto norm = [](const Shape& shape, double flop, std::int64_t parameters) {
    return VectorNode{.shape = shape,
                      .kind = ops::KernelClass::Norm,
                      .flop_per_element = flop,
                      .reads = {shape.elements(), parameters}};
  };
  if (const auto* n = std::get_if<ops::LayerNorm>(&op)) return norm(n->shape, 6.0, n->parameters());
  if (const auto* n = std::get_if<ops::RmsNorm>(&op)) return norm(n->shape, 4.0, n->parameters());
  // A batch norm only scales and shifts in inference; in training its statistics come first.
  if (const auto* n = std::get_if<ops::BatchNorm>(&op); n != nullptr && !n->training) {
    return VectorNode{.shape = n->output(),
                      .flop_per_element = ops::BatchNorm::kScaleFlop,
                      .reads = {n->output().elements(), n->constants()}};
  }
  return std::nullopt;
}

/// The nodes of a block, with the group (kernel) that each vector operator belongs to.
class BlockFusion {
 public:
  explicit BlockFusion(const Block& block) : block_(block) {
    for (std::size_t i = 0; i < block.nodes.size(); ++i) {
      const Node& node = block.nodes[i];
      index_.emplace(node.name, i);
      vectors_.push_back(node.count == 1 ? vector_node(node.op) : std::nullopt);
      group_.push_back(i);
      readers_.emplace_back();
      for (const std::string& input : node.inputs) {
        if (const auto producer = index_.find(input); producer != index_.end()) {
          readers_[producer->second].insert(i);
        }
      }
    }
  }

  /// For each node the last one of its kernel. `published`: nodes that other blocks read by name.
  std::vector<std::size_t> kernels(const std::set<std::string>& published) {
    published_ = &published;
    for (std::size_t i = 0; i < block_.nodes.size(); ++i) {
      if (!vectors_[i]) continue;
      for (const std::string& input : block_.nodes[i].inputs) {
        const auto producer = index_.find(input);
        if (producer != index_.end() && joins(producer->second, i)) merge(producer->second, i);
      }
    }
    std::vector<std::size_t> last;
    for (std::size_t i = 0; i < group_.size(); ++i) last.push_back(members_of(i).back());
    return last;
  }

  Block run(const std::set<std::string>& published, std::map<std::string, std::string>& renamed) {
    kernels(published);
    Block result{.name = block_.name, .repeat = block_.repeat, .nodes = {}};
    for (std::size_t i = 0; i < block_.nodes.size(); ++i) {
      const std::vector<std::size_t> members = members_of(i);
      if (members.size() == 1) result.nodes.push_back(block_.nodes[i]);
      if (members.size() <= 1 || members.back() != i) continue;  // a group stands at its last node
      result.nodes.push_back(fused(members));
      for (const std::size_t member : members) {
        renamed[block_.nodes[member].name] = block_.nodes[i].name;
      }
    }
    for (Node& node : result.nodes) {
      for (std::string& input : node.inputs) {
        if (const auto to = renamed.find(input); to != renamed.end()) input = to->second;
      }
    }
    return result;
  }

 private:
  [[nodiscard]] bool joins(std::size_t producer, std::size_t consumer) const {
    if (!vectors_[producer] || group_[producer] == group_[consumer]) return false;
    const VectorNode& from = *vectors_[producer];
    const VectorNode& to = *vectors_[consumer];
    if (from.shape.elements() != to.shape.elements()) return false;
    if (block_.nodes[producer].differentiable != block_.nodes[consumer].differentiable)
      return false;
    if (reduces(producer) && reduces(consumer)) return false;
    if (is_output(producer) || block_.nodes[producer].reduced_output > 0) return false;
    if (readers_[producer].size() == 1) return true;
    // All readers inside the kernel (x in x * tanh(x)), or the residual sum before a norm.
    const bool before_norm = to.kind == ops::KernelClass::Norm && !reduces(producer);
    return std::all_of(readers_[producer].begin(), readers_[producer].end(),
                       [&](std::size_t reader) {
                         return group_[reader] == group_[consumer] ||
                                (before_norm && reader > consumer) || reader == consumer;
                       });
  }

  [[nodiscard]] bool is_output(std::size_t node) const {
    return node + 1 == block_.nodes.size() ||
           published_->contains(block_.name + "." + block_.nodes[node].name);
  }

  [[nodiscard]] bool reduces(std::size_t node) const {
    for (std::size_t i = 0; i < group_.size(); ++i) {
      if (group_[i] == group_[node] && vectors_[i] && vectors_[i]->reduces()) return true;
    }
    return false;
  }

  void merge(std::size_t producer, std::size_t consumer) {
    const std::size_t from = group_[producer];
    std::replace(group_.begin(), group_.end(), from, group_[consumer]);
  }

  [[nodiscard]] std::vector<std::size_t> members_of(std::size_t node) const {
    std::vector<std::size_t> members;
    for (std::size_t i = 0; i < group_.size(); ++i) {
      if (group_[i] == group_[node]) members.push_back(i);
    }
    return members;
  }

  [[nodiscard]] Node fused(const std::vector<std::size_t>& members) const {
    const Node& last = block_.nodes[members.back()];
    ops::FusedVector op{.shape = vectors_[members.back()]->shape,
                        .flop_per_element = 0.0,
                        .inputs = 0,
                        .read = 0,
                        .written = 0};
    Node node = last;
    node.inputs.clear();
    const auto inside = [&](const std::string& name) {
      const auto it = index_.find(name);
      return it != index_.end() && group_[it->second] == group_[members.back()];
    };
    for (const std::size_t member : members) {
      const VectorNode& vector = *vectors_[member];
      const Node& source = block_.nodes[member];
      op.flop_per_element += vector.flop_per_element;
      op.parameter_count += ops::parameters_of(source.op) - source.shared_parameters;
      if (vector.reduces()) op.kind = vector.kind;
      for (std::size_t i = 0; i < vector.reads.size(); ++i) {
        if (i < source.inputs.size()) {
          const std::string& input = source.inputs[i];
          const bool seen =
              std::find(node.inputs.begin(), node.inputs.end(), input) != node.inputs.end();
          if (inside(input) || seen) continue;
          node.inputs.push_back(input);
          op.inputs += 1;
        }
        op.read += vector.reads[i];
      }
      const bool read_outside =
          std::any_of(readers_[member].begin(), readers_[member].end(),
                      [&](std::size_t reader) { return group_[reader] != group_[member]; });
      if (member == members.back() || read_outside) op.written += vector.shape.elements();
    }
    op.read = std::max<std::int64_t>(op.read, 1);
    node.op = op;
    node.shared_parameters = 0;
    return node;
  }

  const Block& block_;
  std::map<std::string, std::size_t, std::less<>> index_;
  std::vector<std::optional<VectorNode>> vectors_;
  std::vector<std::size_t> group_;
  std::vector<std::set<std::size_t>> readers_;
  const std::set<std::string>* published_ = nullptr;
};

std::set<std::string> published_names(const Graph& graph) {
  std::set<std::string> published;
  for (const Block& block : graph.blocks) {
    for (const Node& node : block.nodes) published.insert(node.inputs.begin(), node.inputs.end());
  }
  return published;
}

}  // namespace

std::vector<std::vector<std::size_t>> fused_kernels(const Graph& graph) {
  const std::set<std::string> published = published_names(graph);
  std::vector<std::vector<std::size_t>> kernels;
  for (const Block& block : graph.blocks) {
    kernels.push_back(BlockFusion(block).kernels(published));
  }
  return kernels;
}

Graph fuse(const Graph& graph) {
  const std::set<std::string> published = published_names(graph);
  Graph result = graph;
  for (Block& block : result.blocks) {
    std::map<std::string, std::string> renamed;
    block = BlockFusion(block).run(published, renamed);
  }
  return result;
}

}  // namespace rooftile::execution
