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

}  // namespace rooftile::graph
