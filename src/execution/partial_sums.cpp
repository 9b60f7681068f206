// SPDX-License-Identifier: Apache-2.0
#include "execution/partial_sums.h"

#include <algorithm>
#include <map>
#include <vector>

namespace rooftile::execution {

namespace {

using graph::Block;
using graph::Node;

class SumDeferral {
 public:
  SumDeferral(const std::set<std::string>& published, Block& block)
      : published_(published), block_(block) {
    for (std::size_t i = 0; i < block.nodes.size(); ++i) {
      index_.emplace(block.nodes[i].name, i);
      for (const std::string& input : block.nodes[i].inputs) ++reads_[input];
    }
  }

  void run() {
    for (Node& node : block_.nodes) {
      std::vector<Node*> partial;
      for (const std::string& input : node.inputs) {
        if (Node* producer = waiting(input)) partial.push_back(producer);
      }
      if (partial.empty() || !waits(node, partial)) continue;
      for (Node* producer : partial) producer->reduced_output = 0;
      node.reduced_output = ops::output_of(node.op).elements();
    }
  }

 private:
  /// The producer whose sum is due, if nobody but one node of this block reads it.
  [[nodiscard]] Node* waiting(const std::string& name) {
    const auto at = index_.find(name);
    if (at == index_.end() || at->second + 1 == block_.nodes.size()) return nullptr;
    Node& producer = block_.nodes[at->second];
    const bool alone = reads_[name] == 1 && !published_.contains(block_.name + "." + name);
    return producer.reduced_output > 0 && alone ? &producer : nullptr;
  }

  /// The node is linear in its partial inputs, and waiting makes the sum shorter or saves one.
  [[nodiscard]] static bool waits(const Node& node, const std::vector<Node*>& partial) {
    if (const auto* routing = std::get_if<ops::MoeRouting>(&node.op))
      return routing->step == ops::RoutingStep::Combine &&
             node.inputs.front() == partial.front()->name;
    const auto* op = std::get_if<ops::Elementwise>(&node.op);
    if (op == nullptr || op->operands != ops::Operands::Binary) return false;
    if (op->function == ops::Function::Add) return partial.size() == 2 && op->second == 0;
    return op->function == ops::Function::Mul && op->second > 0 && partial.size() == 1 &&
           node.inputs.front() == partial.front()->name;  // a gate per token
  }

  const std::set<std::string>& published_;
  Block& block_;
  std::map<std::string, std::size_t, std::less<>> index_;
  std::map<std::string, int, std::less<>> reads_;
};

}  // namespace

void defer_sums(const std::set<std::string>& published, Block& block) {
  SumDeferral(published, block).run();
}

}  // namespace rooftile::execution
