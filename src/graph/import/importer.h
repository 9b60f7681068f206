// SPDX-License-Identifier: Apache-2.0
//
// The contract of an import format: it recognises its documents by content and turns one into a
// graph. The table of formats is in import_model.cpp; one file per format is in this folder.
#pragma once

#include <string>
#include <string_view>

#include "core/json.h"
#include "core/result.h"
#include "graph/graph.h"
#include "graph/import_model.h"

namespace rooftile::graph {

struct Importer {
  std::string_view format;   ///< "Hugging Face config.json"
  std::string_view expects;  ///< how a document of this format is told: `a "model_type"`
  bool (*recognizes)(const JsonView& document) = nullptr;
  /// Need not be validated; import_model does that.
  Result<Graph> (*import)(const JsonView& document, const ImportOptions& options) = nullptr;
};

/// Hugging Face config.json: hf_config.cpp.
bool is_hf_config(const JsonView& document);
Result<Graph> import_hf_config(const JsonView& document, const ImportOptions& options);

/// Native graph JSON: native.cpp.
bool is_native_graph(const JsonView& document);
Result<Graph> import_native_graph(const JsonView& document, const ImportOptions& options);

}  // namespace rooftile::graph
