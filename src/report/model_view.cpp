// SPDX-License-Identifier: Apache-2.0
#include "report/model_view.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "core/provenance.h"
#include "core/text.h"
#include "report/json_text.h"
#include "report/provenance_view.h"
#include "report/table.h"

namespace rooftile::report {

ProvenanceReport provenance_of(std::span<const graph::ModelSummary> models) {
  std::vector<Input> inputs;
  for (const graph::ModelSummary& model : models) inputs.push_back(model.input);
  return make_provenance(inputs);
}

std::string models_to_text(std::span<const graph::ModelSummary> models, int width) {
  Table table({{.title = "model"},
               {.title = "family"},
               {.title = "parameters", .align = Align::Right},
               {.title = "also known as", .shrink = true},
               {.title = "description", .shrink = true}});
  for (const graph::ModelSummary& model : models) {
    table.add({model.name, model.family, format_count(static_cast<double>(model.parameters)),
               fmt::format("{}", fmt::join(model.aliases, ", ")), model.description});
  }
  return table.render(width, 0) +
         "\nparameters are those of training, with all heads; BERT's inference runs a classifier "
         "instead of them\n" +
         provenance_to_text(provenance_of(models), false);
}

std::string models_to_json(std::span<const graph::ModelSummary> models) {
  nlohmann::ordered_json json = nlohmann::ordered_json::array();
  for (const graph::ModelSummary& model : models) {
    json.push_back({{"name", model.name},
                    {"family", model.family},
                    {"parameters", model.parameters},
                    {"aliases", model.aliases},
                    {"description", model.description}});
  }
  const ProvenanceReport provenance = provenance_of(models);
  return json_text({{"schema", 1},
                    {"models", json},
                    {"provenance", provenance_json(provenance)},
                    {"warnings", replacement_notes(provenance)}});
}

std::string models_to_csv(std::span<const graph::ModelSummary> models) {
  std::string text = "name,family,parameters,aliases\n";
  for (const graph::ModelSummary& model : models) {
    text +=
        fmt::format("{},{},{},{}\n", csv_field(model.name), csv_field(model.family),
                    model.parameters, csv_field(fmt::format("{}", fmt::join(model.aliases, ";"))));
  }
  return text;
}

}  // namespace rooftile::report
