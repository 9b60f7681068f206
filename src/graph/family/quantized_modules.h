// SPDX-License-Identifier: Apache-2.0
//
// Which layers a name in a quantization file means: "model.layers.3.self_attn*", "lm_head",
// "re:.*shared_experts.*". The names are those of the model's own code, so they are told by the
// words in them; a name without a known word means no layer that is quantized here.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace rooftile::graph {

/// A set of roles, one bit each.
using ModuleRoles = std::uint8_t;
constexpr ModuleRoles kAttentionModule = 1;
constexpr ModuleRoles kDenseModule = 2;
constexpr ModuleRoles kExpertsModule = 4;
constexpr ModuleRoles kSharedModule = 8;
constexpr ModuleRoles kRouterModule = 16;
constexpr ModuleRoles kLogitsModule = 32;
constexpr ModuleRoles kAllModules = 63;

/// What a node of a graph is.
ModuleRoles module_role(std::string_view block, std::string_view node);

struct ModulePattern {
  ModuleRoles roles = 0;
  std::optional<std::int64_t> layer;  ///< nothing: all layers
  std::string module;                 ///< a single projection; empty: all of the role
};

ModulePattern parse_module_pattern(std::string_view text);

/// Most of the layers that a block stands for are named by the patterns.
bool covers(const std::vector<ModulePattern>& patterns, ModuleRoles role, std::string_view node,
            const std::vector<std::int64_t>& layers);

}  // namespace rooftile::graph
