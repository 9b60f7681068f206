// SPDX-License-Identifier: Apache-2.0
//
// Defaults, aliases, heads, windows and notes of Hugging Face config.json.
#include <gtest/gtest.h>

#include <algorithm>

#include "core/catalog.h"
#include "graph/import_model.h"

namespace rooftile::graph {
namespace {

Graph import(const std::string& text, const ImportOptions& options = {}) {
  auto graph = import_text(text, "c.json", options);
  EXPECT_TRUE(graph.has_value()) << to_string(graph.error());
  return graph.has_value() ? *std::move(graph) : Graph{};
}

std::string error_of(const std::string& text, const ImportOptions& options) {
  const auto graph = import_text(text, "c.json", options);
  return graph.has_value() ? "no error" : to_string(graph.error());
}

std::int64_t parameters(const std::string& model_type) {
  return import("{\"model_type\": \"" + model_type + "\"}").parameters;
}

// The defaults of the library are those of these released models.
TEST(HfDefaults, ABareModelTypeIsTheModelOfTheDefaults) {
  EXPECT_EQ(parameters("gpt2"), 124'439'808);
  EXPECT_EQ(parameters("bert"), 109'482'240 + 2 * 768 + 2);
  EXPECT_EQ(parameters("opt"), 125'239'296);
  EXPECT_EQ(parameters("llama"), 6'738'415'616);
  EXPECT_EQ(parameters("mistral"), 7'241'732'096);
  EXPECT_EQ(parameters("mixtral"), 46'702'792'704);
  EXPECT_EQ(parameters("gemma"), 8'537'680'896);
  EXPECT_EQ(parameters("t5"), 60'506'624);
  // vit-b-16 without its 1000 * 769 classifier parameters, and 2 * 769.
  EXPECT_EQ(parameters("vit"), 86'567'656 - 998 * 769);
}

// 32 layers of 4 * 4096^2 (+ 3 * 4096 biases) attention, 3 * 4096 * 22016 MLP and two norms; two
// tables of 151936 * 4096 and the last norm. Qwen3 has head norms of 128 instead of the biases.
TEST(HfDefaults, Qwen) {
  const std::int64_t layer = 4 * 4096 * 4096 + 3LL * 4096 * 22016 + 2 * 4096;
  const std::int64_t rest = 2LL * 151936 * 4096 + 4096;
  EXPECT_EQ(parameters("qwen2"), 32 * (layer + 3 * 4096) + rest);
  EXPECT_EQ(parameters("qwen3"), 32 * (layer + 2 * 128) + rest);
}

TEST(HfAliases, AttributeMapIsRead) {
  EXPECT_EQ(import(R"({"model_type": "gpt2", "hidden_size": 1024, "num_hidden_layers": 24,
                       "num_attention_heads": 16})")
                .parameters,
            354'823'168);
  EXPECT_EQ(import(R"({"model_type": "t5", "hidden_size": 768, "num_hidden_layers": 12,
                       "num_attention_heads": 12, "d_ff": 3072})")
                .parameters,
            222'903'552);
}

// 224 x 448 in patches of 16: 14 * 28 patches and the class token.
TEST(HfAliases, VitImagesMayBeRectangles) {
  EXPECT_EQ(import(R"({"model_type": "vit", "image_size": [224, 448]})").sequence, 14 * 28 + 1);
  EXPECT_EQ(import(R"({"model_type": "vit", "image_size": [224, 224]})").sequence, 197);
  EXPECT_EQ(error_of(R"({"model_type": "vit", "image_size": [224]})", {}),
            "error: c.json:/image_size: two sides are needed\nhint: write [height, width]\n");
}

const Block* find_block(const Graph& graph, std::string_view name) {
  const auto found = std::find_if(graph.blocks.begin(), graph.blocks.end(),
                                  [&](const Block& block) { return block.name == name; });
  return found == graph.blocks.end() ? nullptr : &*found;
}

const Node* find_node(const Block& block, std::string_view name) {
  const auto found = std::find_if(block.nodes.begin(), block.nodes.end(),
                                  [&](const Node& node) { return node.name == name; });
  return found == block.nodes.end() ? nullptr : &*found;
}

// Layers 20 to 31 slide. In decode they see 1024 keys, the others 5001; so does the cache.
TEST(HfWindows, QwenSlidesFromMaxWindowLayersOn) {
  const ImportOptions options{.step = Step::Decode, .context = 5000};
  const Graph graph = import(R"({"model_type": "qwen2", "use_sliding_window": true,
                                 "sliding_window": 1024, "max_window_layers": 20})",
                             options);
  const Block* full = find_block(graph, "layer");
  const Block* window = find_block(graph, "window_layer");
  ASSERT_TRUE(full != nullptr && window != nullptr);
  EXPECT_EQ(full->repeat, 20);
  EXPECT_EQ(window->repeat, 12);
  EXPECT_EQ(std::get<ops::BatchedMatmul>(find_node(*full, "self_attn.scores")->op).n, 5001);
  EXPECT_EQ(std::get<ops::BatchedMatmul>(find_node(*window, "self_attn.scores")->op).n, 1024);
  EXPECT_EQ(std::get<ops::BatchedMatmul>(find_node(*window, "self_attn.context")->op).k, 1024);
  ASSERT_EQ(graph.kv_cache->parts.size(), 2U);
  EXPECT_EQ(graph.kv_cache->parts[0].layers, 20);
  EXPECT_EQ(graph.kv_cache->parts[0].tokens, 5001);
  EXPECT_EQ(graph.kv_cache->parts[1].layers, 12);
  EXPECT_EQ(graph.kv_cache->parts[1].tokens, 1024);
}

TEST(HfWindows, LayerTypesAreCounted) {
  const std::string head = R"({"model_type": "qwen3", "num_hidden_layers": 2, )";
  const std::string types = R"("layer_types": ["full_attention", "sliding_attention"]})";
  const Graph graph = import(head + R"("use_sliding_window": true, )" + types);
  EXPECT_EQ(find_block(graph, "window_layer")->repeat, 1);
  EXPECT_EQ(error_of(head + types, {}).substr(0, 81),
            "error: c.json:/layer_types: layers have sliding attention, but there is no window");
  EXPECT_EQ(error_of(head + R"("layer_types": ["linear_attention", "full_attention"]})", {}),
            "error: c.json:/layer_types: layer types other than those of this family\n"
            "hint: supported: full_attention, sliding_attention\n");
}

TEST(HfHeads, ABareModelHasNoLogits) {
  const std::string text = R"({"model_type": "llama", "architectures": ["LlamaModel"]})";
  // Without the 32000 x 4096 output table.
  EXPECT_EQ(import(text).parameters, 6'738'415'616 - 32000LL * 4096);
  EXPECT_EQ(import(text).notes.size(), 1U);  // the sizes, which the file does not give
  EXPECT_EQ(error_of(text, {.step = Step::Train}),
            "error: c.json:/architectures: LlamaModel has no head to train\n"
            "hint: name LlamaForCausalLM, or use infer\n");
}

TEST(HfHeads, T5EncoderModelIsItsEncoder) {
  const Graph graph = import(R"({"model_type": "t5", "architectures": ["T5EncoderModel"]})");
  EXPECT_EQ(find_block(graph, "decoder_layer"), nullptr);
  EXPECT_NE(find_block(graph, "encoder_layer"), nullptr);
}

TEST(HfHeads, DecoderFlagIsRefused) {
  EXPECT_EQ(error_of(R"({"model_type": "bert", "is_decoder": true})", {}).substr(0, 57),
            "error: c.json:/is_decoder: is_decoder is not supported\nhi");
}

TEST(HfNotes, SayWhatTheGraphDoesNotFollow) {
  const std::string text = R"({"model_type": "bert", "architectures": ["BertForMaskedLM"],
                               "torch_dtype": "float16", "quantization_config": {"bits": 4}})";
  const std::vector<std::string> expected{
      "architecture: the file names BertForMaskedLM, the graph of this step is "
      "BertForSequenceClassification",
      "dtype: the file's torch_dtype is float16, the prediction is for fp32",
      "quantization: unknown method \"(not named)\", weights are counted in fp32",
      "sizes: not in the file, assumed as in BertConfig: hidden_size = 768, "
      "num_hidden_layers = 12, num_attention_heads = 12, intermediate_size = 3072, "
      "vocab_size = 30522, max_position_embeddings = 512, type_vocab_size = 2"};
  EXPECT_EQ(import(text).notes, expected);
  EXPECT_TRUE(import(R"({"model_type": "gpt2", "architectures": ["GPT2LMHeadModel"],
                         "torch_dtype": "float32", "n_embd": 768, "n_layer": 12, "n_head": 12,
                         "vocab_size": 50257, "n_positions": 1024})")
                  .notes.empty());
}

// Sizes that follow from others (n_inner, head_dim) are not assumptions; those of the configuration
// class are, absent or null, and so are key/value heads as many as heads: few models have them.
TEST(HfNotes, ListTheSizesThatWereAssumed) {
  const std::string sizes = R"("num_hidden_layers": 2, "num_attention_heads": 8,
      "intermediate_size": 1024, "vocab_size": 1000, "max_position_embeddings": 512)";
  const auto notes = [&sizes](const std::string& type, const std::string& more) {
    return import("{\"model_type\": \"" + type + "\", " + sizes + more + "}").notes;
  };
  using Notes = std::vector<std::string>;
  EXPECT_EQ(notes("llama", R"(, "hidden_size": 512, "num_key_value_heads": 8)"), Notes{});
  EXPECT_EQ(notes("llama", R"(, "hidden_size": 512)"),
            Notes{"sizes: not in the file, assumed as in LlamaConfig: num_key_value_heads = 8"});
  EXPECT_EQ(notes("llama", R"(, "num_key_value_heads": 8)"),
            Notes{"sizes: not in the file, assumed as in LlamaConfig: hidden_size = 4096"});
  EXPECT_EQ(notes("llama", R"(, "hidden_size": null, "num_key_value_heads": 8)"),
            Notes{"sizes: not in the file, assumed as in LlamaConfig: hidden_size = 4096 (null)"});
  EXPECT_EQ(notes("mistral", R"(, "hidden_size": 512)"),
            Notes{"sizes: not in the file, assumed as in MistralConfig: "
                  "num_key_value_heads = 8, sliding_window = 4096"});
  EXPECT_EQ(notes("gemma", R"(, "hidden_size": 512, "num_key_value_heads": 8)"),
            Notes{"sizes: not in the file, assumed as in GemmaConfig: head_dim = 256"});
}

TEST(HfNotes, NameSizesThatNoModelHas) {
  const std::string text = R"({"model_type": "llama", "hidden_size": 4096000,
      "num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 32,
      "intermediate_size": 11008, "vocab_size": 32, "max_position_embeddings": 2048})";
  EXPECT_EQ(import(text).notes,
            (std::vector<std::string>{"sizes: outside the range of known models: hidden_size = "
                                      "4096000 (models have 8 to 65536), vocab_size = 32 (models "
                                      "have 128 to 4000000)"}));
}

// Decode runs the decoder only, and the encoder's weights stay in memory: together the model.
TEST(HfMemory, T5DecodeKeepsTheEncoder) {
  for (const char* model : {"t5-small", "switch-base-8"}) {
    const Catalog catalog = Catalog::embedded();
    const auto infer = import_model(catalog, model, {});
    const auto decode = import_model(catalog, model, {.step = Step::Decode});
    ASSERT_TRUE(infer.has_value() && decode.has_value());
    EXPECT_GT(decode->idle_parameters, 0);
    EXPECT_EQ(decode->parameters + decode->idle_parameters, infer->parameters) << model;
  }
}

TEST(HfErrors, OtherFormatsAreNamed) {
  EXPECT_EQ(error_of(R"({"layers": []})", {}),
            "error: c.json:/: this is not a known model format\n"
            "hint: known formats: Hugging Face config.json (has \"model_type\"), native graph (has "
            "\"rooftile_graph\")\n");
}

}  // namespace
}  // namespace rooftile::graph
