// SPDX-License-Identifier: Apache-2.0
#include "graph/family/quantized_modules.h"

#include <algorithm>
#include <set>

#include "core/text.h"

namespace rooftile::graph {

namespace {

bool names(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

/// The last name of a dotted path, without wildcards.
std::string last_name(std::string_view text) {
  while (!text.empty() && (text.back() == '*' || text.back() == '.')) text.remove_suffix(1);
  const std::size_t dot = text.rfind('.');
  return std::string(dot == std::string_view::npos ? text : text.substr(dot + 1));
}

}  // namespace

ModuleRoles module_role(std::string_view block, std::string_view node) {
  if (block == "head" || node == "lm_head") return kLogitsModule;
  if (node.starts_with("shared")) return kSharedModule;
  if (node == "moe.gate" || names(node, "router") || names(node, "shared_gate"))
    return kRouterModule;
  if (node.starts_with("moe.")) return kExpertsModule;
  if (node.starts_with("mlp")) return kDenseModule;
  return kAttentionModule;
}

ModulePattern parse_module_pattern(std::string_view text) {
  ModulePattern pattern;
  std::string_view rest = text;
  if (const std::size_t at = text.find("layers."); at != std::string_view::npos) {
    const std::string_view tail = text.substr(at + 7);
    const std::size_t digits = std::min(tail.find_first_not_of("0123456789"), tail.size());
    if (digits > 0 && digits < 7) pattern.layer = parse_int(tail.substr(0, digits));
    rest = tail.substr(digits);
    if (rest.find_first_not_of("*.") == std::string_view::npos && pattern.layer) {
      pattern.roles = kAllModules;
      return pattern;
    }
  }
  const bool other = names(rest, "norm") || names(rest, "vis") || names(rest, "mtp") ||
                     names(rest, "embed") || names(rest, "score") || names(rest, "indexer");
  if (other) return pattern;
  if (names(rest, "shared_expert")) {
    pattern.roles = kSharedModule;
  } else if (names(rest, "experts")) {
    pattern.roles = kExpertsModule;
  } else if (names(rest, "attn") || names(rest, "attention") || names(rest, "mixer") ||
             names(rest, "mamba")) {
    pattern.roles = kAttentionModule;
    const std::string module = last_name(rest);
    if (names(module, "proj")) pattern.module = module;
  } else if (names(rest, "lm_head") || last_name(rest) == "head") {
    pattern.roles = kLogitsModule;
  } else if (names(rest, "_proj")) {
    pattern.roles = kDenseModule;
  } else if (names(rest, "gate") || names(rest, "router")) {
    pattern.roles = kRouterModule;
  } else if (names(rest, "mlp") || names(rest, "ffn") || names(rest, "feed_forward")) {
    pattern.roles = kDenseModule | kExpertsModule | kSharedModule;
  }
  return pattern;
}

bool covers(const std::vector<ModulePattern>& patterns, ModuleRoles role, std::string_view node,
            const std::vector<std::int64_t>& layers) {
  std::set<std::int64_t> named;
  for (const ModulePattern& pattern : patterns) {
    if ((pattern.roles & role) == 0) continue;
    if (!pattern.module.empty() && !names(node, pattern.module)) continue;
    if (!pattern.layer) return true;
    if (std::binary_search(layers.begin(), layers.end(), *pattern.layer)) {
      named.insert(*pattern.layer);
    }
  }
  return !named.empty() && 2 * named.size() > layers.size();
}

}  // namespace rooftile::graph
