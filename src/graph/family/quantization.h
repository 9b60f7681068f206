// SPDX-License-Identifier: Apache-2.0
//
// How a model's weights and its key/value cache are stored: as the file says (quantization_config
// of a config.json, or hf_quant_config.json next to it), or as the request says. Linear layers keep
// the model's own format where the file excludes them; embeddings, logits and routers always do.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "graph/graph.h"
#include "graph/import/importer.h"

namespace rooftile::graph {

/// fp8, int8, int4, nvfp4, mxfp4 and their variants; "none" is not a format.
Result<std::optional<ops::WeightFormat>> parse_weight_format(std::string_view text);

/// Sets the formats of the graph's nodes and of its cache, and adds a note that says so. `layers`
/// are the layers that a block stands for. A method that is not known is a note, not a guess.
Status apply_quantization(Graph& graph,
                          const std::map<std::string, std::vector<std::int64_t>>& layers,
                          const ModelSource& source, const ImportOptions& options);

}  // namespace rooftile::graph
