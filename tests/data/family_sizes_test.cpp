// SPDX-License-Identifier: Apache-2.0
//
// Published models against data/families: family_sizes.json has, for most model types, the sizes
// that a model's makers state and the number of its parameters, which the graph has to count to
// within 1 %. The same models have to import in every phase of their family.
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "core/catalog.h"
#include "core/file.h"
#include "graph/family/family.h"
#include "graph/import_model.h"
#include "source_folder.h"

namespace rooftile::graph {
namespace {

constexpr double kWithin = 0.01;

struct PublishedModel {
  std::string name;
  double parameters = 0;
  std::string config;
};

std::vector<PublishedModel> published_models() {
  const auto text = read_file(testing::source_folder() / "tests/data/family_sizes.json");
  EXPECT_TRUE(text.has_value());
  std::vector<PublishedModel> models;
  const auto document = nlohmann::json::parse(text.value_or("{}"));
  for (const auto& model : document.at("models")) {
    models.push_back({.name = model["name"],
                      .parameters = model["parameters"],
                      .config = model["config"].dump()});
  }
  return models;
}

ImportOptions short_step(Step step) {
  ImportOptions options;
  options.step = step;
  options.sequence = 32;
  options.dtype = DType::Bf16;
  options.attention = AttentionKind::Flash;
  return options;
}

TEST(FamilySizes, ParametersAreThePublishedOnes) {
  const Catalog catalog = Catalog::embedded();
  Families families(catalog);
  for (const PublishedModel& model : published_models()) {
    const auto graph = import_text(model.config, model.name, short_step(Step::Infer), families);
    ASSERT_TRUE(graph.has_value()) << model.name << ": " << to_string(graph.error());
    const auto counted = static_cast<double>(graph->parameters + graph->idle_parameters);
    EXPECT_NEAR(counted / model.parameters, 1.0, kWithin) << model.name;
  }
}

TEST(FamilySizes, EveryPhaseOfTheFamilyImports) {
  const Catalog catalog = Catalog::embedded();
  Families families(catalog);
  for (const PublishedModel& model : published_models()) {
    for (const Step step : {Step::Train, Step::Prefill, Step::Decode}) {
      const auto graph = import_text(model.config, model.name, short_step(step), families);
      if (graph) {
        EXPECT_GT(graph->parameters, 0) << model.name;
        continue;
      }
      const std::string& message = graph.error().message;
      EXPECT_TRUE(message.find("phase") != std::string::npos ||
                  message.find("no head to train") != std::string::npos)
          << model.name << ": " << to_string(graph.error());
    }
  }
}

// Families that extend another without a published model of their own stay few.
TEST(FamilySizes, MostTypesHaveAPublishedModel) {
  const Catalog catalog = Catalog::embedded();
  Families families(catalog);
  const auto types = families.model_types();
  ASSERT_TRUE(types.has_value());
  std::set<std::string> covered;
  for (const PublishedModel& model : published_models()) {
    covered.insert(nlohmann::json::parse(model.config)["model_type"]);
  }
  EXPECT_GT(covered.size(), types->size() / 2);
  for (const std::string& type : covered) {
    EXPECT_NE(std::find(types->begin(), types->end(), type), types->end()) << type;
  }
}

}  // namespace
}  // namespace rooftile::graph
