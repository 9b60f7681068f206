// SPDX-License-Identifier: Apache-2.0
#include "execution/merge.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace rooftile::execution {

namespace {

using graph::Block;
using graph::Graph;
using graph::Node;

/// A product of another kind, or the end of what vector operators make of one.
bool is_sink(const ops::AnyOp& op) {
  return std::holds_alternative<ops::Linear>(op) || std::holds_alternative<ops::ExpertLinear>(op) ||
         std::holds_alternative<ops::FusedAttention>(op) ||
         std::holds_alternative<ops::MoeRouting>(op) || std::holds_alternative<ops::Conv2d>(op);
}

/// Names that other blocks read.
std::set<std::string> read_elsewhere(const Graph& graph) {
  std::set<std::string> names;
  for (const Block& block : graph.blocks) {
    for (const Node& node : block.nodes) {
      for (const std::string& input : node.inputs) {
        if (input.find('.') != std::string::npos) names.insert(input);
      }
    }
  }
  return names;
}

/// For each node the products that its result reaches through vector operators alone.
std::vector<std::set<std::size_t>> sinks_of(const Block& block) {
  std::map<std::string, std::size_t, std::less<>> index;
  for (std::size_t i = 0; i < block.nodes.size(); ++i) index.emplace(block.nodes[i].name, i);
  std::vector<std::set<std::size_t>> sinks(block.nodes.size());
  for (std::size_t i = block.nodes.size(); i-- > 0;) {  // readers come behind what they read
    const Node& reader = block.nodes[i];
    for (const std::string& input : reader.inputs) {
      const auto producer = index.find(input);
      if (producer == index.end()) continue;
      if (is_sink(reader.op)) {
        sinks[producer->second].insert(i);
      } else {
        sinks[producer->second].insert(sinks[i].begin(), sinks[i].end());
      }
    }
  }
  return sinks;
}

bool meet(const std::set<std::size_t>& a, const std::set<std::size_t>& b) {
  return std::any_of(a.begin(), a.end(), [&](std::size_t sink) { return b.contains(sink); });
}

bool alike(const ops::Linear& a, const ops::Linear& b) {
  ops::Linear other = b;
  other.out = a.out;
  return a == other;
}
bool alike(const ops::ExpertLinear& a, const ops::ExpertLinear& b) {
  ops::ExpertLinear other = b;
  other.out = a.out;
  return a == other;
}
bool alike(const ops::Rotary& a, const ops::Rotary& b) {
  ops::Rotary other = b;
  other.heads = a.heads;
  return a == other;
}
void widen(ops::Linear& a, const ops::Linear& b) {
  a.out += b.out;
}
void widen(ops::ExpertLinear& a, const ops::ExpertLinear& b) {
  a.out += b.out;
}
void widen(ops::Rotary& a, const ops::Rotary& b) {
  a.heads += b.heads;
}

/// "self_attn.q_proj" + "self_attn.k_proj" -> "self_attn.q_proj+k_proj"
std::string joined_name(const std::string& name, const std::string& more) {
  const std::size_t dot = name.rfind('.');
  const std::string prefix = dot == std::string::npos ? std::string() : name.substr(0, dot + 1);
  return name + "+" + (more.starts_with(prefix) ? more.substr(prefix.size()) : more);
}

/// Merges the nodes of one block that hold an Op and stand side by side.
template <typename Op>
class Merger {
 public:
  Merger(const Block& block, const std::set<std::string>& published)
      : block_(block), published_(published), sinks_(sinks_of(block)) {}

  Block run(bool same_input, bool at_last) {
    std::vector<std::vector<std::size_t>> groups;
    for (std::size_t i = 0; i < block_.nodes.size(); ++i) {
      if (!mergeable(i)) continue;
      const auto group = std::find_if(groups.begin(), groups.end(), [&](const auto& members) {
        return std::any_of(members.begin(), members.end(),
                           [&](std::size_t m) { return joins(m, i, same_input); });
      });
      if (group == groups.end()) {
        groups.push_back({i});
      } else {
        group->push_back(i);
      }
    }
    std::map<std::size_t, std::vector<std::size_t>> at;  // where a merged node stands
    std::set<std::size_t> gone;
    for (const auto& members : groups) {
      if (members.size() < 2 || !readers_behind(members, at_last)) continue;
      at.emplace(at_last ? members.back() : members.front(), members);
      gone.insert(members.begin(), members.end());
    }
    return rebuilt(at, gone);
  }

 private:
  [[nodiscard]] bool mergeable(std::size_t i) const {
    const Node& node = block_.nodes[i];
    const bool last = i + 1 == block_.nodes.size();
    return std::holds_alternative<Op>(node.op) && !last && node.reduced_output == 0 &&
           !published_.contains(block_.name + "." + node.name);
  }

  [[nodiscard]] bool joins(std::size_t a, std::size_t b, bool same_input) const {
    const Node& first = block_.nodes[a];
    const Node& second = block_.nodes[b];
    if (same_input && first.inputs != second.inputs) return false;
    return first.count == second.count && first.differentiable == second.differentiable &&
           first.input_gradient == second.input_gradient && first.weights == second.weights &&
           alike(std::get<Op>(first.op), std::get<Op>(second.op)) && meet(sinks_[a], sinks_[b]);
  }

  /// Where the merged node stands at the last of its members, nobody may read one before.
  [[nodiscard]] bool readers_behind(const std::vector<std::size_t>& members, bool at_last) const {
    if (!at_last) return true;
    for (const std::size_t member : members) {
      for (std::size_t i = member + 1; i < members.back(); ++i) {
        const auto& inputs = block_.nodes[i].inputs;
        if (std::find(inputs.begin(), inputs.end(), block_.nodes[member].name) != inputs.end())
          return false;
      }
    }
    return true;
  }

  [[nodiscard]] Block rebuilt(const std::map<std::size_t, std::vector<std::size_t>>& at,
                              const std::set<std::size_t>& gone) const {
    Block result{.name = block_.name, .repeat = block_.repeat, .nodes = {}};
    std::map<std::string, std::string> renamed;
    for (std::size_t i = 0; i < block_.nodes.size(); ++i) {
      if (const auto place = at.find(i); place != at.end()) {
        result.nodes.push_back(merged(place->second));
        for (const std::size_t member : place->second) {
          renamed[block_.nodes[member].name] = result.nodes.back().name;
        }
      } else if (!gone.contains(i)) {
        result.nodes.push_back(block_.nodes[i]);
      }
    }
    for (Node& node : result.nodes) {
      for (std::string& input : node.inputs) {
        if (const auto to = renamed.find(input); to != renamed.end()) input = to->second;
      }
    }
    return result;
  }

  [[nodiscard]] Node merged(const std::vector<std::size_t>& members) const {
    Node node = block_.nodes[members.front()];
    for (auto it = members.begin() + 1; it != members.end(); ++it) {
      const Node& more = block_.nodes[*it];
      widen(std::get<Op>(node.op), std::get<Op>(more.op));
      node.name = joined_name(node.name, more.name);
      node.shared_parameters += more.shared_parameters;
      node.reduced_gradient = std::max(node.reduced_gradient, more.reduced_gradient);
      for (const std::string& input : more.inputs) {
        if (std::find(node.inputs.begin(), node.inputs.end(), input) == node.inputs.end())
          node.inputs.push_back(input);
      }
    }
    return node;
  }

  const Block& block_;
  const std::set<std::string>& published_;
  std::vector<std::set<std::size_t>> sinks_;
};

/// The norm that opens a layer, as a fused kernel sees it.
struct OpeningNorm {
  Node node;
  Shape shape;
  double flop_per_element = 0;
  std::int64_t parameters = 0;
};

std::optional<OpeningNorm> opening_norm(const Block& block,
                                        const std::set<std::string>& published) {
  if (block.nodes.size() < 2) return std::nullopt;
  const Node& node = block.nodes.front();
  if (node.count != 1 || node.inputs != std::vector{std::string(graph::kBlockInput)} ||
      published.contains(block.name + "." + node.name)) {
    return std::nullopt;
  }
  // As execution/fuse.cpp counts them.
  if (const auto* n = std::get_if<ops::RmsNorm>(&node.op))
    return OpeningNorm{node, n->shape, 4.0, n->parameters()};
  if (const auto* n = std::get_if<ops::LayerNorm>(&node.op))
    return OpeningNorm{node, n->shape, 6.0, n->parameters()};
  return std::nullopt;
}

/// The sum at the end of a block with the next layer's norm; nothing where it is another kernel.
std::optional<ops::FusedVector> with_norm(const ops::AnyOp& last, const OpeningNorm& norm) {
  ops::FusedVector op{.shape = norm.shape,
                      .kind = ops::KernelClass::Norm,
                      .flop_per_element = norm.flop_per_element,
                      .parameter_count = norm.parameters};
  const std::int64_t elements = norm.shape.elements();
  if (const auto* sum = std::get_if<ops::Elementwise>(&last)) {
    if (sum->operands != ops::Operands::Binary) return std::nullopt;
    op.flop_per_element += 1;
    op.inputs = 3;
    op.read = elements + (sum->second > 0 ? sum->second : elements) + norm.parameters;
    op.written = 2 * elements;
    return op;
  }
  const auto* chain = std::get_if<ops::FusedVector>(&last);
  if (chain == nullptr || chain->kind != ops::KernelClass::Pointwise) return std::nullopt;
  op.flop_per_element += chain->flop_per_element;
  op.inputs = chain->inputs + 1;
  op.read = chain->read + norm.parameters;
  op.written = chain->written + elements;
  op.parameter_count += chain->parameter_count;
  return op;
}

/// Ends `block` with the norm of what follows it. `counted`: its parameters are this block's.
void append_norm(Block& block, const OpeningNorm& norm, bool counted) {
  Node& last = block.nodes.back();
  if (auto fused = with_norm(last.op, norm)) {
    if (!counted) fused->parameter_count -= norm.parameters;
    last.op = *fused;
    return;
  }
  Node node = norm.node;
  node.name = "next." + norm.node.name;
  node.inputs = {last.name};
  if (!counted) node.shared_parameters = norm.parameters;
  block.nodes.push_back(std::move(node));
}

void drop_opening(Block& block) {
  const std::string name = block.nodes.front().name;
  block.nodes.erase(block.nodes.begin());
  for (Node& node : block.nodes) {
    for (std::string& input : node.inputs) {
      if (input == name) input = std::string(graph::kBlockInput);
    }
  }
}

template <typename Op>
Graph merged_graph(const Graph& graph, bool same_input, bool at_last) {
  const std::set<std::string> published = read_elsewhere(graph);
  Graph result = graph;
  for (std::size_t i = 0; i < graph.blocks.size(); ++i) {
    result.blocks[i] = Merger<Op>(graph.blocks[i], published).run(same_input, at_last);
  }
  return result;
}

}  // namespace

Graph merge_linear(const Graph& graph) {
  return merged_graph<ops::ExpertLinear>(merged_graph<ops::Linear>(graph, true, false), true,
                                         false);
}

Graph merge_rotary(const Graph& graph) {
  return merged_graph<ops::Rotary>(graph, false, true);
}

Graph carry_norms(const Graph& graph) {
  const std::set<std::string> published = read_elsewhere(graph);
  const std::size_t blocks = graph.blocks.size();
  // Block i is opened by the one before (and by itself where it repeats).
  std::vector<std::optional<OpeningNorm>> opening(blocks);
  for (std::size_t i = 1; i < blocks; ++i) {
    const auto ends_alike = [&](const Block& block) {
      return !block.nodes.empty() &&
             ops::output_of(block.nodes.back().op).elements() == opening[i]->shape.elements();
    };
    opening[i] = opening_norm(graph.blocks[i], published);
    if (!opening[i]) continue;
    if (!ends_alike(graph.blocks[i - 1]) ||
        (graph.blocks[i].repeat > 1 && !ends_alike(graph.blocks[i]))) {
      opening[i].reset();
    }
  }
  Graph result = graph;
  for (std::size_t i = 1; i < blocks; ++i) {
    if (!opening[i]) continue;
    const bool repeats = graph.blocks[i].repeat > 1;
    const bool handed_on = i + 1 < blocks && opening[i + 1].has_value();
    const bool already = graph.blocks[i - 1].repeat > 1 && opening[i - 1].has_value();
    drop_opening(result.blocks[i]);
    // The last repetition makes the norm of the next block, or one too many.
    if (!already) append_norm(result.blocks[i - 1], *opening[i], !repeats || handed_on);
    if (repeats) append_norm(result.blocks[i], *opening[i], true);
  }
  return result;
}

}  // namespace rooftile::execution
