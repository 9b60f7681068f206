// SPDX-License-Identifier: Apache-2.0
#include "graph/family/template.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <optional>
#include <set>
#include <utility>

#include "core/text.h"
#include "graph/family/block_template.h"

namespace rooftile::graph {

namespace {

/// Layers with patterns are looked at one by one; no model is near.
constexpr std::int64_t kMaxPattern = 10'000;

/// Layers that are alike: the values of the names that tell layers apart, and which they are.
struct LayerKind {
  std::vector<Value> values;
  std::vector<std::int64_t> layers;
};

class TemplateBuilder {
 public:
  TemplateBuilder(ConfigScope& scope, const ImportOptions& options, const std::string& model)
      : scope_(scope), nodes_(scope, options, model) {}

  Result<BuiltTemplate> run() {
    const auto list = scope_.family().find("blocks");
    if (!list) return scope_.config().unsupported("the family has no blocks");
    ROOFTILE_TRY(const auto blocks, list->elements());
    for (const JsonView& view : blocks) ROOFTILE_CHECK(add(view));
    BuiltTemplate built;
    built.graph.blocks = std::move(blocks_);
    built.graph.idle_parameters = idle_ + nodes_.idle_parameters();
    built.graph.kv_cache = nodes_.take_cache();
    built.graph.notes = std::move(notes_);
    built.layers = std::move(layers_);
    return built;
  }

 private:
  Status add(const JsonView& view) {
    constexpr std::array<std::string_view, 10> kKeys{"name", "nodes", "repeat", "for", "per_layer",
                                                     "when", "idle",  "apart",  "let", "note"};
    ROOFTILE_CHECK(view.expect_keys(kKeys));
    if (const auto condition = view.find("when")) {
      ROOFTILE_TRY(const bool applies, scope_.truth(*condition));
      if (!applies) return {};
    }
    scope_.open();
    Status status = bind(view);
    if (status) status = view.find("for") ? add_layers(view) : add_block(view, {});
    scope_.close();
    return status;
  }

  Status bind(const JsonView& view) {
    const auto let = view.find("let");
    if (!let) return {};
    ROOFTILE_TRY(const auto members, let->members());
    for (const auto& [name, expression] : members) {
      ROOFTILE_TRY(Value value, scope_.evaluate(expression));
      scope_.bind(name, std::move(value));
    }
    return {};
  }

  /// What tells layers apart: the expressions that the block names, with `i` for the layer.
  Result<std::vector<std::pair<std::string, JsonView>>> distinctions(const JsonView& view) const {
    std::vector<std::pair<std::string, JsonView>> found;
    const auto list = view.find("per_layer");
    if (!list) return found;
    ROOFTILE_TRY(const auto names, list->elements());
    for (const JsonView& element : names) {
      ROOFTILE_TRY(const std::string name, element.string());
      const auto& known = scope_.family().per_layer();
      const auto it = std::find_if(known.begin(), known.end(),
                                   [&](const auto& entry) { return entry.first == name; });
      if (it == known.end()) {
        return element.error(fmt::format("\"{}\" is not in \"per_layer\"", printable(name)));
      }
      found.push_back(*it);
    }
    return found;
  }

  Result<std::vector<LayerKind>> kinds(const std::vector<std::pair<std::string, JsonView>>& names,
                                       std::int64_t layers) {
    std::vector<LayerKind> kinds;
    std::map<std::vector<Value>, std::size_t> index;
    for (std::int64_t i = 0; i < layers; ++i) {
      std::vector<Value> values;
      scope_.bind("i", Value(i));
      for (const auto& [name, expression] : names) {
        ROOFTILE_TRY(Value value, scope_.evaluate(expression));
        scope_.bind(name, value);  // the next ones may build on it
        values.push_back(std::move(value));
      }
      const auto [it, added] = index.try_emplace(values, kinds.size());
      if (added) kinds.push_back({.values = std::move(values), .layers = {}});
      kinds[it->second].layers.push_back(i);
    }
    return kinds;
  }

  Status add_layers(const JsonView& view) {
    ROOFTILE_TRY(const std::int64_t layers, scope_.integer(*view.find("for"), 0, kMaxRepeat));
    if (layers == 0) return {};
    ROOFTILE_TRY(const auto names, distinctions(view));
    if (names.empty()) {
      ROOFTILE_CHECK(add_block(view, layers));
      std::vector<std::int64_t> all(static_cast<std::size_t>(std::min(layers, kMaxPattern)));
      std::iota(all.begin(), all.end(), std::int64_t{0});
      if (!blocks_.empty()) layers_[blocks_.back().name] = std::move(all);
      return {};
    }
    if (layers > kMaxPattern) {
      return scope_.config().unsupported(
          fmt::format("{} layers that follow a pattern are too many", layers),
          fmt::format("up to {} layers may differ from each other", kMaxPattern));
    }
    ROOFTILE_TRY(const std::vector<LayerKind> found, kinds(names, layers));
    scope_.bind("kinds", Value(static_cast<std::int64_t>(found.size())));
    for (const LayerKind& kind : found) {
      for (std::size_t n = 0; n < names.size(); ++n) scope_.bind(names[n].first, kind.values[n]);
      ROOFTILE_CHECK(add_block(view, static_cast<std::int64_t>(kind.layers.size())));
      if (!blocks_.empty()) layers_[blocks_.back().name] = kind.layers;
    }
    return {};
  }

  /// The name is unique: layers that differ in what their name does not say are numbered.
  Result<std::string> block_name(const JsonView& view) const {
    ROOFTILE_TRY(const JsonView field, view.at("name"));
    ROOFTILE_TRY(const std::string stem, nodes_.interpolated(field));
    const auto taken = [this](const std::string& name) {
      return std::any_of(blocks_.begin(), blocks_.end(),
                         [&](const Block& block) { return block.name == name; });
    };
    std::string name = stem;
    for (int n = 2; taken(name); ++n) name = fmt::format("{}_{}", stem, n);
    return name;
  }

  Status add_block(const JsonView& view, std::optional<std::int64_t> layers) {
    std::int64_t repeat = layers.value_or(1);
    if (const auto field = view.find("repeat")) {
      ROOFTILE_TRY(repeat, scope_.integer(*field, 0, kMaxRepeat));
      if (repeat == 0) return {};
    }
    ROOFTILE_TRY(const std::string name, block_name(view));
    auto aside = BlockTemplate::Aside::No;
    if (const auto idle = view.find("idle")) {
      ROOFTILE_TRY(const bool rests, scope_.truth(*idle));
      if (rests) aside = BlockTemplate::Aside::Idle;
    }
    if (view.find("apart")) aside = BlockTemplate::Aside::Apart;
    ROOFTILE_TRY(Block block, nodes_.build(view, name, repeat, aside));
    if (aside == BlockTemplate::Aside::No) {
      if (!block.nodes.empty()) blocks_.push_back(std::move(block));
      return {};
    }
    Graph counted;
    counted.name = name;
    counted.blocks.push_back(std::move(block));
    if (counted.blocks.front().nodes.empty()) return {};
    ROOFTILE_CHECK(validate(counted));
    if (aside == BlockTemplate::Aside::Idle) idle_ += counted.parameters;
    if (const auto note = view.find("note")) {
      ROOFTILE_TRY(const std::string text, note->string());
      notes_.push_back(fmt::format("{} ({} parameters)", text,
                                   format_count(static_cast<double>(counted.parameters))));
    }
    return {};
  }

  ConfigScope& scope_;
  BlockTemplate nodes_;
  std::vector<Block> blocks_;
  std::map<std::string, std::vector<std::int64_t>> layers_;
  std::vector<std::string> notes_;
  std::int64_t idle_ = 0;
};

}  // namespace

Result<BuiltTemplate> build_template(ConfigScope& scope, const ImportOptions& options,
                                     const std::string& model) {
  return TemplateBuilder(scope, options, model).run();
}

}  // namespace rooftile::graph
