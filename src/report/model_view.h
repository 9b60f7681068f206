// SPDX-License-Identifier: Apache-2.0
//
// `rooftile models`: the built-in models as a table. Text and JSON end with their files.
#pragma once

#include <span>
#include <string>

#include "graph/import_model.h"
#include "rooftile/provenance.h"

namespace rooftile::report {

ProvenanceReport provenance_of(std::span<const graph::ModelSummary> models);

std::string models_to_text(std::span<const graph::ModelSummary> models, int width);
std::string models_to_json(std::span<const graph::ModelSummary> models);
std::string models_to_csv(std::span<const graph::ModelSummary> models);

}  // namespace rooftile::report
