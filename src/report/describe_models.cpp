// SPDX-License-Identifier: Apache-2.0
//
// `rooftile models`: the built-in models.
#include <nlohmann/json.hpp>

#include "core/provenance.h"
#include "graph/import_model.h"
#include "report/describe.h"

namespace rooftile::report {

Document describe(std::span<const graph::ModelSummary> models) {
  using nlohmann::ordered_json;
  ordered_json list = ordered_json::array();
  std::vector<Input> inputs;
  for (const graph::ModelSummary& model : models) {
    inputs.push_back(model.input);
    list.push_back({{"name", model.name},
                    {"family", model.family},
                    {"parameters", model.parameters},
                    {"aliases", model.aliases},
                    {"description", model.description}});
  }
  const ProvenanceReport provenance = make_provenance(inputs);
  const std::vector<std::string> notes = replacement_notes(provenance);
  Document document;
  document.title = "Built-in models";
  document.data = ordered_json{{"schema", 1},
                               {"models", std::move(list)},
                               {"provenance", provenance_json(provenance)},
                               {"warnings", notes}};
  document.sections.push_back(
      Table{.kind = "model",
            .rows = {.at = "/models"},
            .columns = {{.title = "model", .fields = {{"name"}}, .rank = Rank::Identity},
                        {.title = "family", .fields = {{"family"}}},
                        {.title = "parameters",
                         .fields = {{"parameters"}},
                         .unit = Unit::Amount,
                         .hint = "of training, with all heads"},
                        {.title = "also known as",
                         .fields = {{"aliases"}},
                         .rank = Rank::Useful,
                         .form = Form::Prose},
                        {.title = "description",
                         .fields = {{"description"}},
                         .rank = Rank::Detail,
                         .form = Form::Prose}}});
  document.sections.push_back(
      Note{.lines = {"Parameters are counted as in training, with all heads; in inference, BERT "
                     "runs a classifier instead of them."}});
  document.warnings = warnings_of(notes);
  document.provenance = provenance;
  return document;
}

}  // namespace rooftile::report
