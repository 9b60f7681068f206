// SPDX-License-Identifier: Apache-2.0
//
// Hugging Face config.json: the key "model_type" selects the family. Keys that a family does not
// read are ignored, as in the library itself; the keys it reads are checked.
#include <fmt/format.h>

#include <array>

#include "core/text.h"
#include "graph/import/families.h"
#include "graph/import/importer.h"

namespace rooftile::graph {

namespace {

struct Family {
  std::string_view model_type;
  Result<Graph> (*import)(const HfReader& config, const ImportOptions& options);
};

constexpr std::array kFamilies{
    Family{.model_type = "gpt2", .import = import_gpt2},
    Family{.model_type = "bert", .import = import_bert},
    Family{.model_type = "opt", .import = import_opt},
    Family{.model_type = "llama", .import = import_llama},
    Family{.model_type = "mistral", .import = import_llama},
    Family{.model_type = "mixtral", .import = import_llama},
    Family{.model_type = "qwen2", .import = import_llama},
    Family{.model_type = "qwen3", .import = import_llama},
    Family{.model_type = "gemma", .import = import_llama},
    Family{.model_type = "t5", .import = import_t5},
    Family{.model_type = "switch_transformers", .import = import_t5},
    Family{.model_type = "vit", .import = import_vit},
};

std::array<std::string_view, kFamilies.size()> family_names() {
  std::array<std::string_view, kFamilies.size()> names;
  for (std::size_t i = 0; i < kFamilies.size(); ++i) names[i] = kFamilies[i].model_type;
  return names;
}

}  // namespace

bool is_hf_config(const JsonView& document) {
  return document.find("model_type").has_value();
}

Result<Graph> import_hf_config(const JsonView& document, const ImportOptions& options) {
  ROOFTILE_TRY(const JsonView field, document.at("model_type"));
  ROOFTILE_TRY(const std::string type, field.string());
  for (const Family& family : kFamilies) {
    if (family.model_type != type) continue;
    ROOFTILE_TRY(Graph graph, family.import(HfReader(document), options));
    graph.family = type;
    return graph;
  }
  const auto names = family_names();
  return field.unsupported(fmt::format("unsupported model_type \"{}\"", printable(type)),
                           fmt::format("supported: {}", fmt::join(names, ", ")));
}

}  // namespace rooftile::graph
