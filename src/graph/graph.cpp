// SPDX-License-Identifier: Apache-2.0
#include "graph/graph.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

#include "core/text.h"

namespace rooftile::graph {

std::string_view name_of(Step step) {
  switch (step) {
    case Step::Infer: return "infer";
    case Step::Train: return "train";
    case Step::Prefill: return "prefill";
    case Step::Decode: return "decode";
  }
  return "?";
}

Result<Step> parse_step(std::string_view text) {
  constexpr std::array kSteps{Step::Infer, Step::Train, Step::Prefill, Step::Decode};
  std::array<std::string_view, kSteps.size()> names;
  for (std::size_t i = 0; i < kSteps.size(); ++i) {
    names[i] = name_of(kSteps[i]);
    if (names[i] == text) return kSteps[i];
  }
  return bad_input({}, fmt::format("unknown phase \"{}\"", printable(text)),
                   did_you_mean(text, names, "phases:"));
}

ops::Precision precision_of(const Graph& graph) {
  ops::Precision precision = ops::precision_of(graph.dtype);
  precision.cache = graph.kv_dtype;
  return precision;
}

ops::Precision precision_of(const Graph& graph, const Node& node) {
  const ops::Precision precision = precision_of(graph);
  if (!node.weights || graph.step == Step::Train) return precision;
  return ops::with_weights(precision, *node.weights);
}

Bytes parameter_bytes(const Graph& graph, const Node& node) {
  const ops::Precision precision = precision_of(graph, node);
  const std::int64_t own = ops::parameters_of(node.op) - node.shared_parameters;
  if (graph.step == Step::Train || !ops::holds_matrix(node.op)) {
    return ops::bytes_of(own, precision.storage);
  }
  return ops::weight_bytes(own, precision);
}

Bytes cache_bytes(const Graph& graph) {
  if (!graph.kv_cache) return {};
  const ops::Precision precision = precision_of(graph);
  const DType dtype = precision.cache.value_or(precision.storage);
  const auto batch = static_cast<double>(graph.kv_cache->batch);
  Bytes total;
  for (const KvCache::Part& part : graph.kv_cache->parts) {
    total += ops::bytes_of(part.width, dtype) * static_cast<double>(part.kv_heads) *
             static_cast<double>(part.tokens) * static_cast<double>(part.layers) * batch;
  }
  for (const KvCache::State& state : graph.kv_cache->states) {
    total += state.bytes * static_cast<double>(state.layers) * batch;
  }
  return total;
}

namespace {

using Names = std::set<std::string, std::less<>>;

/// `local` are the earlier nodes of the block, `published` those of earlier blocks.
Status check_node(const Node& node, const Names& local, const Names& published,
                  const std::string& where) {
  if (node.count < 1 || node.count > kMaxRepeat) {
    return bad_input(where, fmt::format("a count of {} is out of range", node.count),
                     fmt::format("1 to {}", kMaxRepeat));
  }
  if (auto status = ops::check(node.op); !status) {
    Error error = std::move(status).error();
    error.where = where;
    return tl::unexpected(std::move(error));
  }
  for (const std::string& input : node.inputs) {
    if (input == kBlockInput || local.contains(input) || published.contains(input)) continue;
    std::vector<std::string_view> names(local.begin(), local.end());
    names.insert(names.end(), published.begin(), published.end());
    return bad_input(where, fmt::format("input \"{}\" does not exist", printable(input)),
                     did_you_mean(input, names, "an input is the name of an earlier node:"));
  }
  return {};
}

struct Totals {
  std::int64_t parameters = 0;
};

Status check_block(const Block& block, const std::string& model, Names& published, Totals& totals) {
  const std::string where = fmt::format("{}:{}", model, block.name);
  if (block.repeat < 1 || block.repeat > kMaxRepeat) {
    return bad_input(where, fmt::format("{} repetitions are out of range", block.repeat),
                     fmt::format("a block repeats 1 to {} times", kMaxRepeat));
  }
  Names known;  // besides `published`, which is not copied: a graph may have many blocks
  for (const Node& node : block.nodes) {
    const std::string node_where = fmt::format("{}/{}", where, node.name);
    ROOFTILE_CHECK(check_node(node, known, published, node_where));
    if (node.name.empty() || node.name == kBlockInput || published.contains(node.name) ||
        !known.insert(node.name).second) {
      return bad_input(node_where, fmt::format("node name \"{}\" is taken", printable(node.name)),
                       "names are unique within a block; \"input\" means the block's input");
    }
    const std::int64_t own = ops::parameters_of(node.op) - node.shared_parameters;
    if (node.shared_parameters < 0 || own < 0) {
      return bad_input(node_where, "shares more parameters than it has", {});
    }
    std::int64_t total = 0;
    if (__builtin_mul_overflow(own, node.count, &total) ||
        __builtin_mul_overflow(total, block.repeat, &total) ||
        __builtin_add_overflow(total, totals.parameters, &totals.parameters) ||
        totals.parameters > Shape::kMaxElements) {
      return bad_input(node_where, "the model has too many parameters",
                       "up to 2^53 parameters are supported");
    }
  }
  for (const Node& node : block.nodes) published.insert(block.name + "." + node.name);
  return {};
}

}  // namespace

Status validate(Graph& graph) {
  Totals totals;
  Names published;
  Names block_names;
  for (const Block& block : graph.blocks) {
    if (!block_names.insert(block.name).second) {
      return bad_input(graph.name, fmt::format("block name \"{}\" is taken", printable(block.name)),
                       "block names are unique");
    }
    ROOFTILE_CHECK(check_block(block, graph.name, published, totals));
  }
  graph.parameters = totals.parameters;
  return {};
}

}  // namespace rooftile::graph
