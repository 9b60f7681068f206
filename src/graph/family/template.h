// SPDX-License-Identifier: Apache-2.0
//
// The blocks of a family's template for one configuration and one request. Nodes are operators
// (template_ops.h), built-in parts (attention, activation) or parts that the file itself defines;
// layers that come out alike are one block, repeated by count.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "core/result.h"
#include "graph/family/config_scope.h"
#include "graph/graph.h"
#include "graph/import_model.h"

namespace rooftile::graph {

struct BuiltTemplate {
  Graph graph;
  /// Which layers of the model a block stands for; blocks that are not layers are not listed.
  std::map<std::string, std::vector<std::int64_t>> layers;
};

/// `scope` has the request's names: batch, queries, keys, cached, train, ...; `model` is what
/// errors call the model.
Result<BuiltTemplate> build_template(ConfigScope& scope, const ImportOptions& options,
                                     const std::string& model);

}  // namespace rooftile::graph
