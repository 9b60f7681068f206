// SPDX-License-Identifier: Apache-2.0
#include "execution/expert_parallel.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <variant>
#include <vector>

#include "core/integer.h"

namespace rooftile::execution {

namespace {

using graph::Block;
using graph::Graph;
using graph::Node;

/// Mean of the largest of `n` numbers of a standard normal distribution: the integral of x d(F^n).
double largest_of(std::int64_t n) {
  constexpr int kReach = 8, kParts = 1600;  // sigma, intervals
  constexpr double kStep = 2.0 * kReach / kParts;
  const auto below = [n](double x) {
    return std::pow(std::erfc(-x / std::sqrt(2.0)) / 2, static_cast<double>(n));
  };
  double mean = 0;
  for (int i = 0; i < kParts; ++i) {
    const double x = -kReach + i * kStep;
    mean += (x + kStep / 2) * (below(x + kStep) - below(x));
  }
  return mean;
}

/// One dispatch with what follows it.
class ExpertSplit {
 public:
  ExpertSplit(const std::string& model, std::int64_t ways, Block& block)
      : where_(fmt::format("{}:{}", model, block.name)), ways_(ways), block_(block) {}

  Result<bool> run() {
    for (Node& node : block_.nodes) {
      if (auto* routing = std::get_if<ops::MoeRouting>(&node.op)) {
        if (routing->step == ops::RoutingStep::Dispatch) ROOFTILE_CHECK(dispatch(node, *routing));
        if (routing->step == ops::RoutingStep::Combine) routing->own = slots_before(node);
        continue;
      }
      const std::int64_t slots = slots_before(node);
      if (slots == 0) continue;
      ROOFTILE_CHECK(shrink(node, slots));
      slots_.emplace(node.name, slots);
    }
    return !slots_.empty();
  }

 private:
  Status dispatch(const Node& node, ops::MoeRouting& routing) {
    if (routing.experts % ways_ != 0) {
      return bad_input(
          fmt::format("{}/{}", where_, node.name),
          fmt::format("{} experts are not divisible by --ep {}", routing.experts, ways_),
          fmt::format("choose a divisor of {}", routing.experts));
    }
    share_ = busiest_share(routing.tokens, routing.top_k, routing.experts, ways_);
    routing.own = share_.slots;
    slots_.emplace(node.name, share_.slots);
    return {};
  }

  [[nodiscard]] std::int64_t slots_before(const Node& node) const {
    for (const std::string& input : node.inputs) {
      if (const auto at = slots_.find(input); at != slots_.end()) return at->second;
    }
    return 0;
  }

  Status shrink(Node& node, std::int64_t slots) {
    if (auto* experts = std::get_if<ops::ExpertLinear>(&node.op)) {
      experts->experts /= ways_;
      experts->slots = slots;
      experts->hit = share_.hit;
      return {};
    }
    const auto rows = [slots](Shape& shape) {
      std::vector<std::int64_t> sizes(shape.sizes().begin(), shape.sizes().end());
      sizes.front() = slots;
      shape = Shape(std::span<const std::int64_t>(sizes));
    };
    auto* vector = std::get_if<ops::Elementwise>(&node.op);
    if (vector == nullptr || vector->shape.rank() != 2) {
      return unsupported(fmt::format("{}/{}", where_, node.name),
                         "an operator between experts that --ep cannot split", "use --tp alone");
    }
    rows(vector->shape);
    return {};
  }

  std::string where_;
  std::int64_t ways_;
  Block& block_;
  BusiestShare share_;
  std::map<std::string, std::int64_t> slots_;  ///< of the nodes between dispatch and combination
};

}  // namespace

BusiestShare busiest_share(std::int64_t tokens, std::int64_t top_k, std::int64_t experts,
                           std::int64_t ways) {
  const auto n = static_cast<double>(tokens), k = static_cast<double>(top_k),
             all = static_cast<double>(experts), w = static_cast<double>(ways);
  const double own = all / w, above = largest_of(ways), others = 1 - 1 / w;
  const double scatter = experts > 1 ? std::sqrt(n * k / w * others * (all - k) / (all - 1)) : 0.0;
  const double most = n * std::min(k, own);
  const double slots = std::clamp(n * k / w + above * scatter, 1.0, most);
  const double p = 1 - std::pow(1 - k / all, n);
  const double hit = own * p + above * std::sqrt(own * p * (1 - p) * others);
  BusiestShare share{.slots = std::llround(slots), .hit = 1};
  share.hit = std::clamp<std::int64_t>(std::llround(hit), 1,
                                       std::min<std::int64_t>(share.slots, experts / ways));
  return share;
}

std::set<std::size_t> expert_nodes(const Block& block) {
  std::set<std::string> names;
  std::set<std::size_t> nodes;
  for (std::size_t i = 0; i < block.nodes.size(); ++i) {
    const Node& node = block.nodes[i];
    const auto* routing = std::get_if<ops::MoeRouting>(&node.op);
    const bool dispatch = routing != nullptr && routing->step == ops::RoutingStep::Dispatch;
    const bool behind = routing == nullptr &&
                        std::any_of(node.inputs.begin(), node.inputs.end(),
                                    [&](const std::string& name) { return names.contains(name); });
    if (!dispatch && !behind) continue;
    names.insert(node.name);
    if (behind) nodes.insert(i);
  }
  return nodes;
}

Result<Graph> split_experts(const Graph& graph, std::int64_t ways) {
  if (ways == 1) return graph;
  Graph result = graph;
  bool found = false;
  for (Block& block : result.blocks) {
    ROOFTILE_TRY(const bool here, ExpertSplit(graph.name, ways, block).run());
    found = found || here;
  }
  if (!found) return unsupported(graph.name, "has no experts that --ep could deal out", "use --tp");
  return result;
}

}  // namespace rooftile::execution
