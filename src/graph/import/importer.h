// SPDX-License-Identifier: Apache-2.0
//
// The contract of an import format: it recognises its documents by content and turns one into a
// graph. The table of formats is in import_model.cpp; one file per format is in this folder.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/json.h"
#include "core/result.h"
#include "graph/family/family.h"
#include "graph/graph.h"
#include "graph/import_model.h"

namespace rooftile::graph {

/// A model's document, and what belongs to it.
struct ModelSource {
  const JsonView& document;
  std::optional<JsonView> quantization;  ///< hf_quant_config.json next to a config.json
  const Family* family = nullptr;        ///< of a config.json
};

struct Importer {
  std::string_view format;   ///< "Hugging Face config.json"
  std::string_view expects;  ///< how a document of this format is told: `a "model_type"`
  bool (*recognizes)(const JsonView& document) = nullptr;
  /// Need not be validated; import_model does that.
  Result<Graph> (*import)(const ModelSource& source, const ImportOptions& options) = nullptr;
};

/// Hugging Face config.json: hf_config.cpp.
bool is_hf_config(const JsonView& document);
/// The family of the document's "model_type", or of its class where there is none. An unsupported
/// type is an error that names the nearest one.
Result<std::shared_ptr<const Family>> family_of(const JsonView& document, Families& families);
Result<Graph> import_hf_config(const ModelSource& source, const ImportOptions& options);

/// The dtype that the file states, where it is one that we know.
Result<std::optional<DType>> config_dtype(const JsonView& document);

/// Native graph JSON: native.cpp.
bool is_native_graph(const JsonView& document);
Result<Graph> import_native_graph(const ModelSource& source, const ImportOptions& options);

}  // namespace rooftile::graph
