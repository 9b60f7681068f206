// SPDX-License-Identifier: Apache-2.0
//
// Where the keys of a configuration are: one value of each object of a list, and sections within
// sections.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "graph/import_model.h"
#include "temporary_folder.h"

namespace rooftile::graph {
namespace {

ImportOptions short_step() {
  ImportOptions options;
  options.sequence = 8;
  options.dtype = DType::Bf16;
  options.attention = AttentionKind::Flash;
  return options;
}

constexpr const char* kSearched =
    R"({"model_type": "nemotron-nas", "hidden_size": 64, "num_attention_heads": 4, "vocab_size": 128,
        "num_hidden_layers": 2, "max_position_embeddings": 64, "block_configs": )";

// Table and logits 2 x 128 x 64, last norm 64. Layer 0: norms 2 x 64, queries and output 64 x 64
// each, keys and values 64 x 32 each (2 heads of 16), MLP 3 x 64 x 256 (2 x 1.5 x 64 / 3 = 64,
// rounded up to 256). Layer 1: norm 64 and one linear layer 64 x 64 in place of the MLP.
TEST(FamilyKeys, OneValueOfEachObjectOfAList) {
  const auto graph = import_text(std::string(kSearched) + R"([
      {"attention": {"n_heads_in_group": 2}, "ffn": {"ffn_mult": 1.5}},
      {"attention": {"no_op": true}, "ffn": {"replace_with_linear": true}}]})",
                                 "c.json", short_step());
  ASSERT_TRUE(graph.has_value()) << to_string(graph.error());
  EXPECT_EQ(graph->parameters,
            2 * 128 * 64 + 64 + 2 * 64 + 2 * 64 * 64 + 2 * 64 * 32 + 3 * 64 * 256 + 64 + 64 * 64);
}

TEST(FamilyKeys, AListOfObjectsHasToFitTheLayers) {
  const auto graph = import_text(std::string(kSearched) + R"([{"ffn": {"ffn_mult": 1.5}}]})",
                                 "c.json", short_step());
  ASSERT_FALSE(graph.has_value());
  EXPECT_EQ(graph.error().message,
            "block_configs does not have one entry for each of the 2 layers");
  EXPECT_FALSE(import_text(std::string(kSearched) + "3}", "c.json", short_step()));
}

TEST(FamilyKeys, ALanguageModelWithinASectionOfASection) {
  const testing::TemporaryFolder folder;
  folder.write("config.json", R"({"model_type": "never_seen_omni", "thinker_config": {
      "text_config": {"model_type": "qwen3", "num_hidden_layers": 2}}})");
  const auto model = Model::open(Catalog::embedded(), folder.file("config.json"));
  ASSERT_TRUE(model.has_value()) << to_string(model.error());
  const auto graph = model->import(short_step());
  ASSERT_TRUE(graph.has_value()) << to_string(graph.error());
  EXPECT_TRUE(std::any_of(graph->notes.begin(), graph->notes.end(), [](const auto& note) {
    return note.find("this is the thinker_config/text_config alone (qwen3)") != std::string::npos;
  }));
}

}  // namespace
}  // namespace rooftile::graph
