// SPDX-License-Identifier: Apache-2.0
#include "execution/stages.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "core/integer.h"
#include "core/number_of.h"

namespace rooftile::execution {

namespace {

/// The blocks that count as layers: repeated ones, or all when none is.
struct Layers {
  bool only_repeated = false;
  std::int64_t total = 0;
  [[nodiscard]] bool counts(const Block& block) const { return !only_repeated || block.repeat > 1; }
};

Layers layers_of(const Graph& graph) {
  Layers layers;
  layers.only_repeated = std::any_of(graph.blocks.begin(), graph.blocks.end(),
                                     [](const Block& block) { return block.repeat > 1; });
  for (const Block& block : graph.blocks) {
    if (layers.counts(block)) layers.total += block.repeat;
  }
  return layers;
}

/// Names of other stages' tensors stand for what the stage receives.
void resolve_inputs(Graph& stage) {
  std::set<std::string> known{std::string(graph::kBlockInput)};
  for (Block& block : stage.blocks) {
    std::set<std::string> local;
    for (Node& node : block.nodes) {
      for (std::string& input : node.inputs) {
        if (!known.contains(input) && !local.contains(input))
          input = std::string(graph::kBlockInput);
      }
      local.insert(node.name);
    }
    for (const Node& node : block.nodes) known.insert(block.name + "." + node.name);
  }
}

/// Parameters of embeddings in the stage: a tied weight elsewhere needs a copy of its own.
bool owns_embedding(const Graph& stage) {
  for (const Block& block : stage.blocks) {
    for (const Node& node : block.nodes) {
      if (std::holds_alternative<ops::Embedding>(node.op)) return true;
    }
  }
  return false;
}

/// Of the last node; nothing for a stage without nodes.
Bytes output_bytes(const Graph& stage) {
  const auto block = std::find_if(stage.blocks.rbegin(), stage.blocks.rend(),
                                  [](const Block& b) { return !b.nodes.empty(); });
  if (block == stage.blocks.rend()) return {};
  const Node& last = block->nodes.back();
  return ops::bytes_of(ops::output_of(last.op).elements(), ops::precision_of(stage.dtype).storage) *
         static_cast<double>(last.count);
}

/// The cache of the layers that the stage runs.
void keep_own_layers(Graph& stage) {
  const auto own = [&stage](auto& parts) {
    for (auto& part : parts) {
      const auto block =
          std::find_if(stage.blocks.begin(), stage.blocks.end(),
                       [&part](const Block& other) { return other.name == part.block; });
      part.layers = block == stage.blocks.end() ? 0 : block->repeat;
    }
    std::erase_if(parts, [](const auto& part) { return part.layers == 0; });
  };
  own(stage.kv_cache->parts);
  own(stage.kv_cache->states);
}

/// Deals the repetitions of the blocks out, stage after stage.
class Dealer {
 public:
  explicit Dealer(const Graph& graph)
      : graph_(graph),
        layers_(layers_of(graph)),
        left_(graph.blocks.empty() ? 0 : graph.blocks.front().repeat) {}

  /// The next `count` layers and the single blocks around them; `last` takes all that is left.
  Graph next(std::int64_t count, bool last) {
    Graph stage = graph_;
    stage.blocks.clear();
    std::int64_t taken = 0;
    while (block_ < graph_.blocks.size()) {
      const Block& block = graph_.blocks[block_];
      const bool layer = layers_.counts(block);
      if (layer && taken == count && !last) break;
      // Single blocks behind the last layer of a stage open the next one.
      if (!layer && taken == count && !last && count > 0) break;
      const std::int64_t take = layer && !last ? std::min(left_, count - taken) : left_;
      if (layer) taken += take;
      stage.blocks.push_back(block);
      stage.blocks.back().repeat = take;
      left_ -= take;
      if (left_ > 0) break;
      ++block_;
      if (block_ < graph_.blocks.size()) left_ = graph_.blocks[block_].repeat;
    }
    if (stage.kv_cache) keep_own_layers(stage);
    return stage;
  }
  [[nodiscard]] std::int64_t total() const { return layers_.total; }

 private:
  const Graph& graph_;
  Layers layers_;
  std::size_t block_ = 0;
  std::int64_t left_;  ///< repetitions of the current block
};

}  // namespace

Result<std::vector<Stage>> split_stages(const Graph& graph, std::int64_t stages) {
  if (stages == 1) return std::vector<Stage>{Stage{.graph = graph, .count = 1, .output = {}}};
  Dealer dealer(graph);
  if (dealer.total() < stages) {
    return bad_input(graph.name,
                     fmt::format("{} cannot be divided among the {} stages of --pp",
                                 number_of(dealer.total(), "layer"), stages),
                     fmt::format("choose --pp {} or less", dealer.total()));
  }
  std::vector<Stage> result;
  const std::int64_t each = dealer.total() / stages;
  const std::int64_t more = dealer.total() % stages;
  for (std::int64_t i = 0; i < stages; ++i) {
    const bool last = i + 1 == stages;
    Stage stage{.graph = dealer.next(each + (i < more ? 1 : 0), last), .count = 1, .output = {}};
    resolve_inputs(stage.graph);
    if (!owns_embedding(stage.graph)) {
      for (Block& block : stage.graph.blocks) {
        for (Node& node : block.nodes) node.shared_parameters = 0;
      }
    }
    ROOFTILE_CHECK(validate(stage.graph));
    if (!last) stage.output = output_bytes(stage.graph);
    if (!result.empty() && result.back().graph == stage.graph &&
        result.back().output == stage.output) {
      ++result.back().count;
    } else {
      result.push_back(std::move(stage));
    }
  }
  return result;
}

std::vector<Reduction> reductions(const Graph& graph, const LaunchOptions& options) {
  const DType storage = ops::precision_of(graph.dtype).storage;
  const bool train = options.mode == Mode::Train;
  std::vector<Reduction> list;
  for (const Block& block : graph.blocks) {
    for (const Node& node : block.nodes) {
      const auto add = [&](Phase phase, std::int64_t elements) {
        if (elements == 0) return;
        list.push_back({.name = block.name + "/" + node.name,
                        .phase = phase,
                        .count = block.repeat * node.count,
                        .bytes = ops::bytes_of(elements, storage)});
      };
      add(Phase::Forward, node.reduced_output);
      if (!train) continue;
      if (options.recompute) add(Phase::Backward, node.reduced_output);
      add(Phase::Backward, node.reduced_gradient);
    }
  }
  return list;
}

std::vector<GradientBucket> gradient_buckets(const Graph& graph) {
  const DType storage = ops::precision_of(graph.dtype).storage;
  std::vector<GradientBucket> buckets;
  for (std::size_t i = graph.blocks.size(); i-- > 0;) {
    const Block& block = graph.blocks[i];
    std::int64_t parameters = 0;
    for (const Node& node : block.nodes) {
      parameters += (ops::parameters_of(node.op) - node.shared_parameters) * node.count;
    }
    buckets.push_back(
        {.block = i, .repeat = block.repeat, .bytes = ops::bytes_of(parameters, storage)});
  }
  return buckets;
}

}  // namespace rooftile::execution
