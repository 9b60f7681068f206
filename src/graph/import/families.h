// SPDX-License-Identifier: Apache-2.0
//
// The model families that the Hugging Face importer knows; one file each.
#pragma once

#include "core/result.h"
#include "graph/graph.h"
#include "graph/import/hf_reader.h"
#include "graph/import_model.h"

namespace rooftile::graph {

Result<Graph> import_gpt2(const HfReader& config, const ImportOptions& options);

Result<Graph> import_bert(const HfReader& config, const ImportOptions& options);
Result<Graph> import_opt(const HfReader& config, const ImportOptions& options);
/// llama, mistral, mixtral, qwen2, qwen3, gemma: one decoder with switches.
Result<Graph> import_llama(const HfReader& config, const ImportOptions& options);
/// t5 and switch_transformers: encoder and decoder, dense or with experts.
Result<Graph> import_t5(const HfReader& config, const ImportOptions& options);
Result<Graph> import_vit(const HfReader& config, const ImportOptions& options);

}  // namespace rooftile::graph
