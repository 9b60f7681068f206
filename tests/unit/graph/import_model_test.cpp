// SPDX-License-Identifier: Apache-2.0
#include "graph/import_model.h"

#include <gtest/gtest.h>

#include "execution/launches.h"
#include "temporary_folder.h"

namespace rooftile::graph {
namespace {

TEST(ImportModel, Gpt2HasThePublishedParameterCount) {
  const auto graph = import_model(Catalog::embedded(), "gpt2", {});
  ASSERT_TRUE(graph.has_value()) << to_string(graph.error());
  EXPECT_EQ(graph->parameters, 124'439'808);
}

TEST(ImportModel, NamesIgnoreCaseAndUnderscores) {
  for (const char* name : {"gpt2-large", "gpt2_large", "GPT2_Large"}) {
    const auto graph = import_model(Catalog::embedded(), name, {});
    ASSERT_TRUE(graph.has_value()) << to_string(graph.error());
    EXPECT_EQ(graph->parameters, 774'030'080);
  }
}

// The names of files are one whether written with '-' or '_'; the user's own wins.
TEST(ImportModel, AnOverlayWinsAndNamesWhatItReplaces) {
  const rooftile::testing::TemporaryFolder folder;
  for (const char* name : {"GPT2_LARGE.json", "gpt2.json", "mine.json"}) {
    folder.write(std::string("models/") + name, R"({"model_type": "gpt2", "n_layer": 1})");
  }
  Catalog catalog = Catalog::embedded();
  ASSERT_TRUE(catalog.overlay(folder.path().string()));
  const auto input_of = [&](const std::string& model) {
    const auto graph = import_model(catalog, model, {});
    EXPECT_TRUE(graph) << to_string(graph.error());
    return graph ? graph->inputs.front() : Input{};
  };
  EXPECT_EQ(input_of("gpt2-large").file, folder.file("models/GPT2_LARGE.json"));
  EXPECT_EQ(input_of("gpt2-large").replaces, "catalog:models/gpt2_large.json");
  EXPECT_EQ(input_of("gpt2").origin, "overlay");
  EXPECT_EQ(input_of("gpt2").replaces, "catalog:models/gpt2.json");
  EXPECT_EQ(input_of("mine").replaces, "");
  EXPECT_EQ(input_of("bert-base").origin, "embedded");
  EXPECT_EQ(input_of(folder.file("models/mine.json")).origin, "file");
  EXPECT_EQ(input_of(folder.file("models/mine.json")).sha256, input_of("mine").sha256);
}

TEST(ImportModel, TwoFilesOfOneNameInOneOverlayAreAnError) {
  const rooftile::testing::TemporaryFolder folder;
  for (const char* name : {"my-model.json", "my_model.json", "gpt2.json"}) {
    folder.write(std::string("models/") + name, R"({"model_type": "gpt2", "n_layer": 1})");
  }
  Catalog catalog = Catalog::embedded();
  ASSERT_TRUE(catalog.overlay(folder.path().string()));
  const auto graph = import_model(catalog, "my-model", {});
  ASSERT_FALSE(graph);
  EXPECT_EQ(graph.error().code, ErrorCode::BadInput);
  EXPECT_NE(graph.error().message.find("answers to the same name as"), std::string::npos);
  EXPECT_FALSE(list_models(catalog));
  EXPECT_TRUE(import_model(catalog, "gpt2", {}));  // the built-in one is of another layer
  EXPECT_TRUE(import_model(catalog, folder.file("models/my_model.json"), {}));
}

TEST(ImportModel, UnknownNameSuggestsTheNearest) {
  const auto graph = import_model(Catalog::embedded(), "gpt2-lage", {});
  ASSERT_FALSE(graph.has_value());
  EXPECT_EQ(to_string(graph.error()),
            "error: unknown model \"gpt2-lage\"\nhint: did you mean \"gpt2-large\"?\n");
}

// 2 FLOP per parameter of the matrix products and token, plus 4 s^2 h per layer and sequence for
// the scores and their product with the values: gpt2, one sequence of 1024 tokens:
// 2 * 1024 * (12 * 12 * 768^2 + 50257 * 768) + 12 * 4 * 1024^2 * 768.
TEST(Lower, ForwardFlopsOfGpt2) {
  const auto graph = import_model(Catalog::embedded(), "gpt2", {.sequence = 1024});
  ASSERT_TRUE(graph.has_value());
  Flops gemm;
  for (const execution::Launch& kernel : execution::launches(*graph, {})) {
    if (kernel.work.matrix) gemm += kernel.work.flops * static_cast<double>(kernel.count);
  }
  EXPECT_DOUBLE_EQ(gemm.base(), 2.0 * 1024 * (12.0 * 12 * 768 * 768 + 50257.0 * 768) +
                                    12.0 * 4 * 1024 * 1024 * 768);
}

}  // namespace
}  // namespace rooftile::graph
