// SPDX-License-Identifier: Apache-2.0
//
// Families as data: parameters worked out by hand, both forms of latent attention, states, caches,
// quantized files, and the invariants that every family keeps.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "aggregate/memory.h"
#include "core/catalog.h"
#include "core/file.h"
#include "execution/launches.h"
#include "graph/family/family.h"
#include "graph/family/quantization.h"
#include "graph/import_model.h"
#include "temporary_folder.h"

namespace rooftile::graph {
namespace {

Graph import(const std::string& text, const ImportOptions& options = {}) {
  auto graph = import_text(text, "c.json", options);
  EXPECT_TRUE(graph.has_value()) << to_string(graph.error()) << text;
  return graph.has_value() ? *std::move(graph) : Graph{};
}

std::int64_t parameters(const std::string& text) {
  const Graph graph = import(text);
  return graph.parameters + graph.idle_parameters;
}

ImportOptions step(Step which, std::int64_t tokens = 64, std::int64_t batch = 1) {
  ImportOptions options;
  options.step = which;
  options.batch = batch;
  options.sequence = tokens;
  options.dtype = DType::Bf16;
  options.attention = AttentionKind::Flash;
  return options;
}

const Node& node_named(const Graph& graph, std::string_view name) {
  for (const Block& block : graph.blocks) {
    for (const Node& node : block.nodes) {
      if (node.name == name) return node;
    }
  }
  ADD_FAILURE() << "no node " << name;
  return graph.blocks.front().nodes.front();
}

Bytes moved(const Graph& graph) {
  Bytes total;
  for (const auto& kernel : execution::launches(graph, execution::default_launch_options(graph))) {
    total += kernel.work.bytes() * static_cast<double>(kernel.count);
  }
  return total;
}

double flops(const Graph& graph) {
  double total = 0;
  for (const auto& kernel : execution::launches(graph, execution::default_launch_options(graph))) {
    total += kernel.work.flops.base() * static_cast<double>(kernel.count);
  }
  return total;
}

TEST(Families, AllFilesAreSound) {
  const Catalog catalog = Catalog::embedded();
  const auto status = lint_families(catalog);
  EXPECT_TRUE(status.has_value()) << to_string(status.error());
}

// The class defaults of every type make a model, in every phase that its family has.
TEST(Families, EveryTypeImportsItsDefaults) {
  const Catalog catalog = Catalog::embedded();
  Families families(catalog);
  const auto types = families.model_types();
  ASSERT_TRUE(types.has_value());
  EXPECT_GT(types->size(), 80U);
  for (const std::string& type : *types) {
    if (type == "nemotron_h" || type == "granitemoehybrid") continue;  // they need their pattern
    const std::string text = "{\"model_type\": \"" + type + "\"}";
    for (const Step which : {Step::Infer, Step::Train, Step::Prefill, Step::Decode}) {
      for (const AttentionKind kind : {AttentionKind::Eager, AttentionKind::Flash}) {
        ImportOptions options = step(which, 16);
        options.attention = kind;
        const auto graph = import_text(text, "c.json", options);
        if (!graph) {
          EXPECT_NE(graph.error().message.find("phase"), std::string::npos)
              << type << ": " << to_string(graph.error());
          continue;
        }
        EXPECT_GT(graph->parameters, 0) << type;
        EXPECT_GT(flops(*graph), 0.0) << type;
      }
    }
  }
}

const std::string kSmall = R"("hidden_size": 64, "num_hidden_layers": 4, "num_attention_heads": 4,
    "num_key_value_heads": 2, "vocab_size": 1000, "max_position_embeddings": 4096)";

// Attention 64 x (64 + 32 + 32) + 64 x 64, router 64 x 8, experts 8 x 3 x 64 x 16, two norms; head
// norms of 16 twice; tables 2 x 64000 and the last norm. Layer 0 is dense: 3 x 64 x 128.
TEST(Families, Qwen3MoeWithADenseLayer) {
  const std::int64_t attention = 64 * 128 + 64 * 64 + 2 * 16 + 2 * 64;
  const std::int64_t sparse = 64 * 8 + 8 * 3 * 64 * 16;
  const std::int64_t dense = 3 * 64 * 128;
  EXPECT_EQ(parameters(R"({"model_type": "qwen3_moe", "intermediate_size": 128, "num_experts": 8,
      "num_experts_per_tok": 2, "moe_intermediate_size": 16, "mlp_only_layers": [0], )" +
                       kSmall + "}"),
            4 * attention + 3 * sparse + dense + 2 * 64000 + 64);
}

std::string deepseek(const std::string& more = "") {
  return R"({"model_type": "deepseek_v3", "hidden_size": 64, "num_hidden_layers": 3,
      "num_attention_heads": 4, "vocab_size": 1000, "intermediate_size": 128, "q_lora_rank": 24,
      "kv_lora_rank": 32, "qk_nope_head_dim": 16, "qk_rope_head_dim": 8, "v_head_dim": 12,
      "n_routed_experts": 8, "num_experts_per_tok": 2, "moe_intermediate_size": 16,
      "n_shared_experts": 1, "first_k_dense_replace": 1, "max_position_embeddings": 4096,
      "num_nextn_predict_layers": 0)" +
         more + "}";
}

// Latent attention: 64 x 24 + 24 + 24 x 96 for queries, 64 x 40 + 32 for the latent, 32 x 4 x 28
// up, 48 x 64 out.
TEST(Families, DeepseekExpandsAndAbsorbsTheSameWeights) {
  const std::int64_t attention =
      64 * 24 + 24 + 24 * 96 + 64 * 40 + 32 + 32 * 4 * 28 + 48 * 64 + 2 * 64;
  const std::int64_t dense = 3 * 64 * 128;
  const std::int64_t sparse = 64 * 8 + 9 * 3 * 64 * 16;
  const std::int64_t expected = 3 * attention + dense + 2 * sparse + 2 * 64000 + 64;
  for (const Step which : {Step::Infer, Step::Prefill, Step::Decode}) {
    EXPECT_EQ(import(deepseek(), step(which)).parameters, expected) << name_of(which);
  }
}

// The cache of a token and layer is the latent and the rotated key, 32 + 8 values, whatever the
// number of heads; decode attends to it as one head of 40 whose first 32 columns are the values.
TEST(Families, LatentAttentionCachesTheLatent) {
  const Graph prefill = import(deepseek(), step(Step::Prefill, 100, 2));
  EXPECT_EQ(cache_bytes(prefill).base(), 2.0 * 3 * 100 * 40 * 2);
  ImportOptions options = step(Step::Decode, 0, 2);
  options.context = 99;
  const Graph decode = import(deepseek(), options);
  EXPECT_EQ(cache_bytes(decode).base(), 2.0 * 3 * 100 * 40 * 2);
  bool found = false;
  for (const Node& node : decode.blocks[1].nodes) {
    const auto* attention = std::get_if<ops::FusedAttention>(&node.op);
    if (attention == nullptr) continue;
    found = true;
    EXPECT_EQ(attention->shape.head_dim, 40);
    EXPECT_EQ(attention->shape.values(), 32);
    EXPECT_EQ(attention->shape.kv_heads, 1);
    EXPECT_TRUE(attention->shape.latent);
  }
  EXPECT_TRUE(found);
}

TEST(Families, MultiTokenPredictionIsCountedApart) {
  std::string text = deepseek();
  text.replace(text.find("\"num_nextn_predict_layers\": 0"), 29, "\"num_nextn_predict_layers\": 1");
  const Graph with = import(text);
  EXPECT_EQ(with.parameters, import(deepseek()).parameters);
  const auto mtp = std::find_if(with.notes.begin(), with.notes.end(), [](const std::string& note) {
    return note.starts_with("multi-token prediction");
  });
  EXPECT_NE(mtp, with.notes.end());
}

// The pattern is Mamba 2, experts, attention, MLP. States: 4 heads of 16 x 8 in FP32, and 3 tokens
// of 64 + 2 x 8 channels in 16 bits; the cache holds the attention layer alone.
TEST(Families, NemotronHKeepsStatesAndACache) {
  const std::string text = R"({"model_type": "nemotron_h", "hybrid_override_pattern": "ME*-",
      "intermediate_size": 128, "mamba_num_heads": 4, "mamba_head_dim": 16, "ssm_state_size": 8,
      "n_groups": 1, "conv_kernel": 4, "n_routed_experts": 4, "num_experts_per_tok": 2,
      "moe_intermediate_size": 16, "n_shared_experts": 0, "head_dim": 16, )" +
                           kSmall + "}";
  const std::int64_t mamba = 64 * (2 * 64 + 16 + 4) + 80 * 5 + 3 * 4 + 64 + 64 * 64;
  const std::int64_t moe = 64 * 4 + 4 * 2 * 64 * 16;
  const std::int64_t attention = 64 * 128 + 64 * 64;
  const std::int64_t mlp = 2 * 64 * 128;
  EXPECT_EQ(parameters(text), mamba + moe + attention + mlp + 4 * 64 + 2 * 64000 + 64);
  ImportOptions options = step(Step::Decode);
  options.context = 100;
  const Graph decode = import(text, options);
  EXPECT_EQ(cache_bytes(decode).base(), 2.0 * 2 * 16 * 101 * 2 + 4.0 * 4 * 16 * 8 + 2.0 * 80 * 3);
}

TEST(Families, NemotronHNeedsItsPattern) {
  const auto graph = import_text(R"({"model_type": "nemotron_h", "num_hidden_layers": 3,
      "hybrid_override_pattern": "MX*"})",
                                 "c.json", {});
  ASSERT_FALSE(graph.has_value());
  EXPECT_EQ(graph.error().where, "c.json:/hybrid_override_pattern");
}

// Python's own numbers are "not given".
TEST(Families, PythonNumbersAreRead) {
  EXPECT_GT(parameters(R"({"model_type": "llama", "time_step_limit": [0.0, Infinity],
      "x": NaN, "y": -Infinity, "note": "NaN is \"Infinity\""})"),
            0);
}

TEST(Families, ParallelBlocksHaveOneNorm) {
  const std::string sizes = R"("n_embd": 64, "n_layer": 2, "n_head": 4, "vocab_size": 1000,
      "rotary_dim": 8)";
  // Attention 4 x 64^2, MLP 2 x 64 x 256 + 256 + 64, one norm of 128; tables with a bias of 1000.
  EXPECT_EQ(parameters(R"({"model_type": "gptj", )" + sizes + "}"),
            2 * (4 * 64 * 64 + 2 * 64 * 256 + 256 + 64 + 128) + 64000 + 65000 + 128);
}

// Every second layer slides; sinks are one number per head; experts have biases.
TEST(Families, GptOssAlternatesAndHasSinks) {
  const Graph graph = import(R"({"model_type": "gpt_oss", "intermediate_size": 32, "head_dim": 16,
      "num_local_experts": 4, "num_experts_per_tok": 2, "sliding_window": 8, )" +
                             kSmall + "}");
  const std::int64_t attention = 64 * 128 + 128 + 64 * 64 + 64 + 4 + 2 * 64;
  const std::int64_t experts = 64 * 4 + 4 + 4 * (3 * 64 * 32 + 2 * 32 + 64);
  EXPECT_EQ(graph.parameters, 4 * (attention + experts) + 2 * 64000 + 64);
  ASSERT_EQ(graph.blocks.size(), 4U);
  EXPECT_EQ(graph.blocks[1].repeat, 2);
  EXPECT_EQ(graph.blocks[2].repeat, 2);
}

// One column per row of scores: with 101 keys 2 x 4 x 1 numbers, not 2 x 4 x 101.
TEST(Families, ASinkIsReadOncePerRowOfScores) {
  ImportOptions options = step(Step::Decode, 0, 2);
  options.context = 100;
  options.attention = AttentionKind::Eager;
  const Graph graph = import(R"({"model_type": "gpt_oss", "intermediate_size": 32, "head_dim": 16,
      "num_local_experts": 4, "num_experts_per_tok": 2, "sliding_window": 8, )" +
                                 kSmall + "}",
                             options);
  const auto* cat = std::get_if<ops::Move>(&node_named(graph, "self_attn.with_sinks").op);
  ASSERT_NE(cat, nullptr);
  EXPECT_EQ(cat->others, 2 * 4 * 1);
}

TEST(Families, BartSharesItsTable) {
  const Graph infer = import(R"({"model_type": "bart", "d_model": 64, "encoder_layers": 2,
      "decoder_layers": 1, "encoder_attention_heads": 4, "decoder_attention_heads": 4,
      "encoder_ffn_dim": 128, "decoder_ffn_dim": 128, "vocab_size": 1000,
      "max_position_embeddings": 100})");
  const std::int64_t attention = 4 * (64 * 64 + 64) + 128;
  const std::int64_t mlp = 2 * 64 * 128 + 128 + 64 + 128;
  EXPECT_EQ(infer.parameters,
            64000 + 2 * (102 * 64 + 128) + 2 * (attention + mlp) + (2 * attention + mlp));
}

// Published counts: MiniCPM3-4B 4.07, deepseek-moe-16b 16.4, Ling-lite 16.8, Ling-mini-2.0 16.26,
// GLM-4.7-Flash 30 billion.
TEST(Families, LatentAndRoutedModelsOfOtherMakers) {
  const auto billions = [](const std::string& text) {
    return static_cast<double>(parameters(text)) * 1e-9;
  };
  EXPECT_NEAR(billions(R"({"model_type": "minicpm3"})"), 4.07, 0.01);
  EXPECT_NEAR(billions(R"({"model_type": "glm4_moe_lite"})"), 30, 0.1);
  EXPECT_NEAR(billions(R"({"model_type": "deepseek", "hidden_size": 2048, "num_hidden_layers": 28,
      "intermediate_size": 10944, "moe_intermediate_size": 1408, "num_attention_heads": 16,
      "num_key_value_heads": 16, "n_routed_experts": 64, "n_shared_experts": 2,
      "num_experts_per_tok": 6, "first_k_dense_replace": 1})"),
              16.38, 0.01);
  EXPECT_NEAR(billions(R"({"model_type": "bailing_moe", "num_key_value_heads": 4,
      "num_shared_experts": 2, "vocab_size": 126464})"),
              16.80, 0.01);
  EXPECT_NEAR(billions(R"({"model_type": "bailing_moe_v2", "num_hidden_layers": 20,
      "num_key_value_heads": 4, "intermediate_size": 5120, "moe_intermediate_size": 512,
      "num_experts": 256, "num_experts_per_tok": 8, "num_shared_experts": 1,
      "first_k_dense_replace": 1, "use_qk_norm": true, "vocab_size": 157184})"),
              16.26, 0.01);
  // The language models of vision models by their own names.
  for (const auto& [own, plain] :
       {std::pair("qwen2_5_vl_text", "qwen2"), std::pair("qwen3_vl_text", "qwen3"),
        std::pair("qwen3_vl_moe_text", "qwen3_moe"), std::pair("glm4v_text", "glm4"),
        std::pair("glm4v_moe_text", "glm4_moe")}) {
    EXPECT_EQ(parameters(fmt::format(R"({{"model_type": "{}"}})", own)),
              parameters(fmt::format(R"({{"model_type": "{}"}})", plain)))
        << own;
  }
}

TEST(Families, WhisperAndImages) {
  EXPECT_NEAR(static_cast<double>(parameters(R"({"model_type": "whisper"})")), 37.76e6, 0.01e6);
  // swin-tiny and convnext-tiny with two classes instead of a thousand.
  EXPECT_NEAR(static_cast<double>(parameters(R"({"model_type": "swin"})")), 28.288e6 - 998 * 769,
              0.01e6);
  EXPECT_NEAR(static_cast<double>(parameters(R"({"model_type": "convnext"})")),
              28.589e6 - 998 * 769, 0.01e6);
}

const std::string kQuantizable = R"({"model_type": "llama", "intermediate_size": 128, )" + kSmall;

TEST(Quantized, Fp8BlocksRunInFp8) {
  const Graph graph = import(kQuantizable + R"(, "quantization_config": {"quant_method": "fp8",
      "weight_block_size": [128, 128]}})",
                             step(Step::Infer));
  const Node& up = node_named(graph, "mlp.up_proj");
  ASSERT_TRUE(up.weights.has_value());
  EXPECT_EQ(up.weights->compute, DType::Fp8E4m3);
  EXPECT_DOUBLE_EQ(up.weights->bytes, 1.0 + 4.0 / 16384);
  EXPECT_FALSE(node_named(graph, "lm_head").weights.has_value());
}

TEST(Quantized, Int4GroupsAreWeightOnly) {
  const Graph graph = import(kQuantizable + R"(, "quantization_config": {"quant_method": "awq",
      "bits": 4, "group_size": 64}})",
                             step(Step::Infer));
  const Node& up = node_named(graph, "mlp.up_proj");
  ASSERT_TRUE(up.weights.has_value());
  EXPECT_FALSE(up.weights->compute.has_value());
  EXPECT_DOUBLE_EQ(up.weights->bytes, 0.5 + 2.5 / 64);
}

TEST(Quantized, ExclusionsAreFollowed) {
  const Graph graph = import(kQuantizable + R"(, "quantization_config": {
      "quant_method": "compressed-tensors", "ignore": ["lm_head", "re:.*self_attn.*"],
      "kv_cache_scheme": {"num_bits": 8, "type": "float"},
      "config_groups": {"group_0": {"weights": {"num_bits": 4, "type": "int", "group_size": 32},
                                    "input_activations": null}}}})",
                             step(Step::Decode));
  EXPECT_FALSE(node_named(graph, "self_attn.q_proj").weights.has_value());
  EXPECT_TRUE(node_named(graph, "mlp.up_proj").weights.has_value());
  EXPECT_EQ(graph.kv_dtype, DType::Fp8E4m3);
}

TEST(Quantized, TheRequestWins) {
  ImportOptions options = step(Step::Infer);
  options.weight_format = "int4";
  EXPECT_TRUE(node_named(import(kQuantizable + "}", options), "mlp.up_proj").weights.has_value());
  options.weight_format = "none";
  EXPECT_FALSE(node_named(import(kQuantizable + R"(, "quantization_config": {
      "quant_method": "fp8"}})",
                                 options),
                          "mlp.up_proj")
                   .weights.has_value());
  EXPECT_FALSE(parse_weight_format("int5").has_value());
}

TEST(Quantized, AFolderWithASecondFile) {
  const testing::TemporaryFolder folder;
  const std::filesystem::path path = folder.path();
  ASSERT_TRUE(write_file_atomic((path / "config.json").string(), kQuantizable + "}").has_value());
  ASSERT_TRUE(write_file_atomic((path / "hf_quant_config.json").string(),
                                R"({"quantization": {"quant_algo": "NVFP4",
                             "kv_cache_quant_algo": "FP8", "group_size": 16,
                             "exclude_modules": ["lm_head", "model.layers.0*"]}})")
                  .has_value());
  const auto graph = import_model(Catalog::embedded(), path.string(), step(Step::Decode));
  ASSERT_TRUE(graph.has_value()) << to_string(graph.error());
  const Node& up = node_named(*graph, "mlp.up_proj");
  ASSERT_TRUE(up.weights.has_value());  // one of four layers is excluded: most are not
  EXPECT_EQ(up.weights->compute, DType::Fp4);
  EXPECT_EQ(graph->kv_dtype, DType::Fp8E4m3);
}

TEST(Quantized, AFileOfTheSameNameBesideIt) {
  const testing::TemporaryFolder folder;
  folder.write("mine.json", kQuantizable + "}");
  folder.write("mine.hf_quant.json", R"({"quantization": {"quant_algo": "FP8"}})");
  const auto graph =
      import_model(Catalog::embedded(), folder.file("mine.json"), step(Step::Decode));
  ASSERT_TRUE(graph.has_value()) << to_string(graph.error());
  EXPECT_EQ(node_named(*graph, "mlp.up_proj").weights->compute, DType::Fp8E4m3);
  // The files that the graph is from: both, and the family with what it extends.
  ASSERT_GE(graph->inputs.size(), 4U);
  EXPECT_EQ(graph->inputs[0].kind, "model");
  EXPECT_EQ(graph->inputs[1].kind, "quantization");
  EXPECT_EQ(graph->inputs[1].file, folder.file("mine.hf_quant.json"));
  EXPECT_EQ(graph->inputs.back().kind, "family");
}

TEST(Quantized, QuarkAndTorchao) {
  const auto up = [](const std::string& scheme) {
    return node_named(import(kQuantizable + R"(, "quantization_config": )" + scheme + "}",
                             step(Step::Decode)),
                      "mlp.up_proj")
        .weights;
  };
  const auto fp8 = up(R"({"quant_method": "quark", "global_quant_config": {
      "weight": {"dtype": "fp8_e4m3"}, "input_tensors": {"dtype": "fp8_e4m3"}}})");
  ASSERT_TRUE(fp8);
  EXPECT_EQ(fp8->compute, DType::Fp8E4m3);
  const auto fp4 = up(R"({"quant_method": "quark", "global_quant_config": {
      "weight": {"dtype": "fp4", "group_size": 32}, "input_tensors": {"dtype": "fp4"}}})");
  ASSERT_TRUE(fp4);
  EXPECT_EQ(fp4->compute, DType::Fp4);
  EXPECT_NEAR(fp4->bytes, 0.5 + 1.0 / 32, 1e-12);
  const auto int4 = up(R"({"quant_method": "torchao", "quant_type": "int4_weight_only"})");
  ASSERT_TRUE(int4);
  EXPECT_FALSE(int4->compute);
  const auto dynamic = up(R"({"quant_method": "torchao", "quant_type": {"default": {
      "_type": "Float8DynamicActivationFloat8WeightConfig"}}})");
  ASSERT_TRUE(dynamic);
  EXPECT_EQ(dynamic->compute, DType::Fp8E4m3);
  EXPECT_FALSE(up(R"({"quant_method": "torchao", "quant_type": "something_new"})"));
}

// Experts that the family has no blocks for are not left out in silence.
TEST(Families, KeysOfOtherBlocksAreNamed) {
  const Graph graph = import(kQuantizable + R"(, "num_experts": 16, "kv_lora_rank": null})");
  EXPECT_TRUE(std::any_of(graph.notes.begin(), graph.notes.end(), [](const auto& note) {
    return note ==
           "sizes: LlamaConfig does not read num_experts: the model may have other blocks than "
           "this graph";
  }));
}

// An unknown model around a known language model is that language model, and says so.
TEST(Families, AnUnknownWrapperOfAKnownModel) {
  const testing::TemporaryFolder folder;
  folder.write("config.json", R"({"model_type": "never_seen_vl", "torch_dtype": "float16",
      "vision_config": {"hidden_size": 64},
      "quantization_config": {"quant_method": "fp8"}, "text_config": )" +
                                  kQuantizable + "}}");
  const auto model = Model::open(Catalog::embedded(), folder.file("config.json"));
  ASSERT_TRUE(model.has_value()) << to_string(model.error());
  EXPECT_EQ(model->dtype(), DType::Fp16);
  const auto wrapped = model->import(step(Step::Decode));
  const Graph plain = import(kQuantizable + "}", step(Step::Decode));
  ASSERT_TRUE(wrapped.has_value()) << to_string(wrapped.error());
  EXPECT_EQ(wrapped->parameters, plain.parameters);
  EXPECT_TRUE(node_named(*wrapped, "mlp.up_proj").weights.has_value());
  EXPECT_TRUE(std::any_of(wrapped->notes.begin(), wrapped->notes.end(), [](const auto& note) {
    return note.starts_with("model_type: this is the text_config alone (llama)");
  }));
}

// Invariants of every decoder that is built in: a longer context and a larger batch never move
// fewer bytes or take less memory, and an FP8 cache takes half of a BF16 one.
TEST(Invariants, ContextBatchAndCache) {
  const Catalog catalog = Catalog::embedded();
  for (const char* name : {"llama3.1-8b", "mixtral-8x7b", "qwen3-30b-a3b", "deepseek-v3",
                           "gpt-oss-20b", "gemma3-27b", "qwen3-next-80b-a3b"}) {
    const auto model = Model::open(catalog, name);
    ASSERT_TRUE(model.has_value()) << to_string(model.error());
    const auto decode = [&](std::int64_t batch, std::int64_t context, bool fp8) {
      ImportOptions options = step(Step::Decode, 0, batch);
      options.context = context;
      if (fp8) options.kv_dtype = DType::Fp8E4m3;
      auto graph = model->import(options);
      EXPECT_TRUE(graph.has_value()) << to_string(graph.error());
      return *graph;
    };
    Bytes moved_before;
    Bytes memory_before;
    for (const std::int64_t context : {64, 512, 4000}) {
      const Graph graph = decode(4, context, false);
      const Bytes memory = aggregate::memory(graph, {}).total();
      EXPECT_GT(moved(graph), moved_before) << name;
      EXPECT_GT(memory, memory_before) << name;
      moved_before = moved(graph);
      memory_before = memory;
    }
    EXPECT_GT(moved(decode(8, 512, false)), moved(decode(4, 512, false))) << name;
    Bytes states;  // are not quantized
    const Graph graph = decode(4, 1000, false);
    for (const auto& state : graph.kv_cache->states) {
      states += state.bytes * static_cast<double>(state.layers * 4);
    }
    EXPECT_DOUBLE_EQ((cache_bytes(decode(4, 1000, true)) - states).base(),
                     (cache_bytes(graph) - states).base() / 2)
        << name;
  }
}

// One token reads 8 of 128 experts: 48 layers x 8 x 3 x 2048 x 768 weights of two bytes.
TEST(Invariants, OneTokenReadsTheActiveExpertsOnly) {
  ImportOptions options = step(Step::Decode);
  options.context = 16;
  const auto graph = import_model(Catalog::embedded(), "qwen3-30b-a3b", options);
  ASSERT_TRUE(graph.has_value()) << to_string(graph.error());
  Bytes experts;
  for (const auto& kernel :
       execution::launches(*graph, execution::default_launch_options(*graph))) {
    if (kernel.work.op == "expert_linear") {
      experts += kernel.work.cold * static_cast<double>(kernel.count);
    }
  }
  EXPECT_EQ(experts.base(), 48.0 * 8 * 3 * 2048 * 768 * 2);
}

}  // namespace
}  // namespace rooftile::graph
