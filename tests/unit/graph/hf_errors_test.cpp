// SPDX-License-Identifier: Apache-2.0
//
// What a wrong config.json is answered with, to the letter.
#include <gtest/gtest.h>

#include <limits>

#include "execution/launches.h"
#include "graph/import_model.h"

namespace rooftile::graph {
namespace {

std::string gpt2(std::string_view fields) {
  return "{\"model_type\": \"gpt2\", " + std::string(fields) + "}";
}

std::string error_of(const std::string& text, const ImportOptions& options = {}) {
  const auto graph = import_text(text, "c.json", options);
  return graph.has_value() ? "no error" : to_string(graph.error());
}

// An absent key has its default, unless another one is nearly its name; optional keys too.
TEST(HfErrors, MisspeltOptionalKeyIsSuggested) {
  EXPECT_EQ(error_of(gpt2(R"("n_layr": 24)")),
            "error: c.json:/: missing key \"n_layer\"\n"
            "hint: \"n_layr\" is present: is it a misspelling?\n");
  EXPECT_EQ(error_of(R"({"model_type": "llama", "num_key_value_head": 8})"),
            "error: c.json:/: missing key \"num_key_value_heads\"\n"
            "hint: \"num_key_value_head\" is present: is it a misspelling?\n");
}

TEST(HfErrors, MisspeltKeyIsSuggested) {
  EXPECT_EQ(error_of(gpt2(R"("n_embed": 768, "n_head": 12, "n_layer": 12, "vocab_size": 1)")),
            "error: c.json:/: missing key \"n_embd\"\n"
            "hint: \"n_embed\" is present: is it a misspelling?\n");
}

TEST(HfErrors, WrongType) {
  EXPECT_EQ(error_of(gpt2(R"("n_embd": "768", "n_head": 12, "n_layer": 12, "vocab_size": 1)")),
            "error: c.json:/n_embd: expected a whole number, found a string\n");
}

TEST(HfErrors, NegativeSize) {
  EXPECT_EQ(error_of(gpt2(R"("n_embd": -768, "n_head": 12, "n_layer": 12, "vocab_size": 1)")),
            "error: c.json:/n_embd: -768 is outside 1 to 16777216\n");
}

TEST(HfErrors, ZeroHeads) {
  EXPECT_EQ(error_of(gpt2(R"("n_embd": 768, "n_head": 0, "n_layer": 12, "vocab_size": 1)")),
            "error: c.json:/n_head: 0 is outside 1 to 16777216\n");
}

TEST(HfErrors, HeadsDoNotDivideTheWidth) {
  EXPECT_EQ(error_of(gpt2(R"("n_embd": 768, "n_head": 13, "n_layer": 12, "vocab_size": 1)")),
            "error: c.json:/n_head: 13 heads do not divide a width of 768\n"
            "hint: the width is a multiple of the number of heads\n");
}

TEST(HfErrors, BillionLayers) {
  EXPECT_EQ(error_of(gpt2(R"("n_embd": 768, "n_head": 12, "n_layer": 1000000000,
                             "vocab_size": 50257)")),
            "error: c.json:/n_layer: 1000000000 is outside 1 to 1000000\n");
}

TEST(HfErrors, TooManyParameters) {
  EXPECT_EQ(error_of(gpt2(R"("n_embd": 16777216, "n_head": 1, "n_layer": 1000000, "n_inner": 1,
                             "vocab_size": 1)")),
            "error: c.json:layer/attn.c_attn: the model has too many parameters\n"
            "hint: up to 2^53 parameters are supported\n");
}

TEST(HfErrors, BatchTooLargeForItsTensors) {
  ImportOptions options;
  options.batch = 16'777'216;
  options.sequence = 1024;
  EXPECT_EQ(
      error_of(gpt2(R"("n_embd": 16777216, "n_head": 1, "n_layer": 1, "vocab_size": 1)"), options),
      "error: c.json: the tensors of 16777216 sequences of 1024 tokens are too large\n"
      "hint: a tensor may have up to 2^53 elements; choose a smaller batch or sequence\n");
}

TEST(HfErrors, BatchAndSequenceOutOfRange) {
  const std::string config = gpt2(R"("n_embd": 8, "n_head": 1, "n_layer": 1, "vocab_size": 1)");
  ImportOptions options;
  options.batch = -1;
  EXPECT_EQ(error_of(config, options),
            "error: c.json: a batch of -1 is out of range\n"
            "hint: 1 to 16777216\n");
  options.batch = std::numeric_limits<std::int64_t>::max();
  EXPECT_NE(error_of(config, options), "no error");
  options.batch = 1;
  options.sequence = -5;
  EXPECT_EQ(error_of(config, options),
            "error: c.json: a sequence of -5 tokens is out of range\n"
            "hint: 1 to 16777216\n");
  options.sequence = 2048;
  EXPECT_EQ(error_of(config, options),
            "error: c.json: a sequence of 2048 tokens exceeds the model's 1024 positions\n"
            "hint: choose a shorter sequence or context\n");
}

TEST(HfErrors, UnknownActivation) {
  EXPECT_EQ(error_of(gpt2(R"("n_embd": 8, "n_head": 1, "n_layer": 1, "vocab_size": 1,
                             "activation_function": "gelu_neu")")),
            "error: c.json:/activation_function: unknown activation \"gelu_neu\"\n"
            "hint: did you mean \"gelu_new\"?\n");
}

TEST(HfErrors, UnsupportedModelType) {
  EXPECT_EQ(error_of(R"({"model_type": "qwen3_mo"})"),
            "error: c.json:/model_type: unsupported model_type \"qwen3_mo\"\n"
            "hint: the nearest supported one is \"qwen3_moe\"; a family is a data file, "
            "docs/howto/add_a_family.md shows how to add one\n");
  EXPECT_NE(error_of(R"({"model_type": "deepseek_v77_max"})").find("\"deepseek_v"),
            std::string::npos);
  EXPECT_NE(error_of(R"({"model_type": "zzzzzzzzzzzz"})").find("supported: RefinedWeb, "),
            std::string::npos);
}

TEST(HfErrors, NeitherFormat) {
  EXPECT_EQ(error_of(R"({"layers": []})").substr(0, 60),
            "error: c.json:/: this is not a known model format\n"
            "hint: know");
}

TEST(HfErrors, EncodersDoNotDecode) {
  ImportOptions options;
  options.step = Step::Decode;
  EXPECT_EQ(error_of(R"({"model_type": "bert", "hidden_size": 8, "num_hidden_layers": 1,
                         "num_attention_heads": 1, "intermediate_size": 8, "vocab_size": 8})",
                     options),
            "error: c.json:/: an encoder has no decode phase\n"
            "hint: use infer or train\n");
}

TEST(HfErrors, KeyValueHeadsDoNotDivide) {
  EXPECT_EQ(error_of(R"({"model_type": "llama", "hidden_size": 64, "num_hidden_layers": 1,
                         "num_attention_heads": 8, "num_key_value_heads": 3,
                         "intermediate_size": 8, "vocab_size": 8})"),
            "error: c.json:/num_key_value_heads: num_attention_heads is not a multiple of "
            "num_key_value_heads\n"
            "hint: each key/value head serves the same number of query heads\n");
}

TEST(HfErrors, MoreExpertsPerTokenThanExperts) {
  EXPECT_EQ(error_of(R"({"model_type": "mixtral", "hidden_size": 64, "num_hidden_layers": 1,
                         "num_attention_heads": 8, "num_local_experts": 2, "num_experts_per_tok": 3,
                         "intermediate_size": 8, "vocab_size": 8})"),
            "error: c.json:/num_experts_per_tok: num_experts_per_tok exceeds num_local_experts\n"
            "hint: a token goes to at most all experts\n");
}

TEST(HfErrors, SwitchesThatAreNotModelled) {
  EXPECT_EQ(error_of(gpt2(R"("n_embd": 8, "n_head": 1, "n_layer": 1, "vocab_size": 1,
                             "add_cross_attention": true)")),
            "error: c.json:/add_cross_attention: add_cross_attention is not supported\n"
            "hint: set it to false, or describe the model as a native graph\n");
  EXPECT_EQ(
      error_of(R"({"model_type": "bert", "hidden_size": 8, "num_hidden_layers": 1,
                         "num_attention_heads": 1, "intermediate_size": 8, "vocab_size": 8,
                         "position_embedding_type": "relative_key"})"),
      "error: c.json:/position_embedding_type: position_embedding_type \"relative_key\" is not "
      "supported\n"
      "hint: supported: \"absolute\"\n");
}

// A model of a million layers costs as much to lower as one of a single layer.
TEST(HfErrors, LayersRepeatByCount) {
  const auto deep = import_text(
      gpt2(R"("n_embd": 8, "n_head": 1, "n_layer": 1000000, "vocab_size": 9)"), "c.json", {});
  const auto flat =
      import_text(gpt2(R"("n_embd": 8, "n_head": 1, "n_layer": 1, "vocab_size": 9)"), "c.json", {});
  ASSERT_TRUE(deep.has_value() && flat.has_value());
  EXPECT_EQ(execution::launches(*deep, {}).size(), execution::launches(*flat, {}).size());
  EXPECT_EQ(deep->blocks[1].repeat, 1'000'000);
}

// Unknown keys are normal in these files.
TEST(HfErrors, UnknownKeysAreIgnored) {
  EXPECT_EQ(error_of(gpt2(R"("n_embd": 8, "n_head": 1, "n_layer": 1, "vocab_size": 1,
                             "transformers_version": "4.2", "task_specific_params": {"a": 1})")),
            "no error");
}

}  // namespace
}  // namespace rooftile::graph
