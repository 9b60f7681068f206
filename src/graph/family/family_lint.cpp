// SPDX-License-Identifier: Apache-2.0
//
// What can be wrong with a family's file without a configuration.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "core/text.h"
#include "graph/family/expression.h"
#include "graph/family/family.h"
#include "graph/family/template_ops.h"

namespace rooftile::graph {

namespace {

constexpr std::array<std::string_view, 20> kFamilyKeys{
    "rooftile_family", "description", "source",  "extends", "model_types", "prefix", "infer_class",
    "train_class",     "input",       "section", "values",  "per_layer",   "checks", "phases",
    "positions",       "tokens",      "limits",  "ignored", "parts",       "blocks"};

/// Names and places, not expressions.
constexpr std::array<std::string_view, 10> kPlainTexts{
    "name", "op", "part", "use", "inputs", "label", "note", "per_layer", "key", "in"};

Status lint_expression(const JsonView& view) {
  if (view.is_array()) {
    ROOFTILE_TRY(const auto elements, view.elements());
    for (const JsonView& element : elements) ROOFTILE_CHECK(lint_expression(element));
    return {};
  }
  if (!view.is_string()) return {};
  ROOFTILE_TRY(const std::string text, view.string());
  if (auto status = check_expression(text); !status) {
    return view.error(status.error().message, status.error().hint);
  }
  return {};
}

Status lint_fields(const JsonView& object) {
  ROOFTILE_TRY(const auto members, object.members());
  for (const auto& [key, value] : members) {
    if (std::find(kPlainTexts.begin(), kPlainTexts.end(), key) != kPlainTexts.end()) continue;
    if (key == "let") {
      ROOFTILE_CHECK(lint_fields(value));
    } else if (key != "nodes") {
      ROOFTILE_CHECK(lint_expression(value));
    }
  }
  return {};
}

Status lint_node(const Family& family, const JsonView& node) {
  if (const auto use = node.find("use")) {
    ROOFTILE_TRY(const std::string name, use->string());
    if (!family.part(name)) return use->error(fmt::format("unknown part \"{}\"", printable(name)));
  }
  if (const auto op = node.find("op")) {
    ROOFTILE_TRY(const std::string name, op->string());
    const auto table = template_ops();
    const bool known = std::any_of(table.begin(), table.end(),
                                   [&](const TemplateOp& other) { return other.name == name; });
    if (!known) return op->error(fmt::format("unknown operator \"{}\"", printable(name)));
    ROOFTILE_CHECK(node.at("name"));
  }
  return lint_fields(node);
}

Status lint_nodes(const Family& family, const JsonView& list) {
  ROOFTILE_TRY(const auto nodes, list.elements());
  for (const JsonView& node : nodes) ROOFTILE_CHECK(lint_node(family, node));
  return {};
}

Status lint_value(const JsonView& value) {
  if (!value.is_object()) return lint_expression(value);
  ROOFTILE_CHECK(value.at("key"));
  ROOFTILE_TRY(const JsonView type, value.at("type"));
  ROOFTILE_TRY(const std::string name, type.string());
  for (const std::string_view key : {"derived", "when", "otherwise"}) {
    if (const auto field = value.find(key)) ROOFTILE_CHECK(lint_expression(*field));
  }
  const auto fallback = value.find("default");
  return fallback && name != "text" ? lint_expression(*fallback) : Status{};
}

}  // namespace

Status Family::lint() const {
  for (const JsonDocument& document : chain_) {
    ROOFTILE_CHECK(document.root().expect_keys(kFamilyKeys));
    if (const auto parts = document.root().find("parts")) {
      ROOFTILE_TRY(const auto members, parts->members());
      for (const auto& [name, nodes] : members) ROOFTILE_CHECK(lint_nodes(*this, nodes));
    }
  }
  for (const auto& [name, value] : values_) ROOFTILE_CHECK(lint_value(value));
  for (const auto& [name, value] : per_layer_) ROOFTILE_CHECK(lint_expression(value));
  const auto blocks = find("blocks");
  if (!blocks) return model_types_.empty() ? Status{} : chain_.back().root().error("no blocks");
  ROOFTILE_TRY(const auto list, blocks->elements());
  for (const JsonView& block : list) {
    ROOFTILE_CHECK(lint_fields(block));
    ROOFTILE_TRY(const JsonView nodes, block.at("nodes"));
    ROOFTILE_CHECK(lint_nodes(*this, nodes));
  }
  return {};
}

Status lint_families(const Catalog& catalog) {
  Families families(catalog);
  std::map<std::string, std::string> owners;
  for (const std::string& name : families.names()) {
    ROOFTILE_TRY(const auto family, families.load(name));
    ROOFTILE_CHECK(family->lint());
    for (const std::string& type : family->model_types()) {
      const auto [owner, added] = owners.emplace(type, name);
      if (!added) {
        return bad_input(name, fmt::format("the model type \"{}\" is already read by \"{}\"", type,
                                           owner->second));
      }
    }
  }
  return {};
}

}  // namespace rooftile::graph
