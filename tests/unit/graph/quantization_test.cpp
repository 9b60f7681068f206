// SPDX-License-Identifier: Apache-2.0
//
// What quantized configurations say: bytes per weight with their scales, the format of products, and
// the modules that stay as they are.
#include "graph/family/quantization.h"

#include <gtest/gtest.h>

#include <string>

#include "graph/import_model.h"

namespace rooftile::graph {
namespace {

constexpr const char* kModel =
    R"({"model_type": "llama", "intermediate_size": 128, "hidden_size": 64, "vocab_size": 100,
        "num_hidden_layers": 4, "num_attention_heads": 4, "num_key_value_heads": 2,
        "max_position_embeddings": 64, "quantization_config": )";

Graph quantized(const std::string& scheme) {
  ImportOptions options;
  options.step = Step::Infer;
  options.sequence = 64;
  options.dtype = DType::Bf16;
  auto graph = import_text(kModel + scheme + "}", "c.json", options);
  EXPECT_TRUE(graph.has_value()) << to_string(graph.error()) << scheme;
  return graph.has_value() ? *std::move(graph) : Graph{};
}

std::optional<ops::WeightFormat> format_of(const Graph& graph, std::string_view name) {
  for (const Block& block : graph.blocks) {
    for (const Node& node : block.nodes) {
      if (node.name == name) return node.weights;
    }
  }
  ADD_FAILURE() << "no node " << name;
  return std::nullopt;
}

TEST(Quantization, EveryMethodHasItsBytesAndProducts) {
  struct Case {
    std::string scheme;
    double bytes;
    std::optional<DType> compute;
  };
  // Groups share an FP16 scale and, of integers, a zero point.
  const std::vector<Case> cases{
      {R"({"quant_method": "gptq", "bits": 4, "group_size": 128})", 0.5 + 2.5 / 128, {}},
      {R"({"quant_method": "gptq", "bits": 8, "group_size": -1})", 1 + 3.0 / 4096, {}},
      {R"({"quant_method": "awq", "w_bit": 4, "group_size": 64})", 0.5 + 2.5 / 64, {}},
      {R"({"quant_method": "bitsandbytes", "load_in_8bit": true})", 1 + 3.0 / 64, {}},
      {R"({"quant_method": "bitsandbytes", "load_in_8bit": false})", 0.5 + 2.5 / 64, {}},
      {R"({"quant_method": "eetq"})", 1 + 3.0 / 128, {}},
      {R"({"quant_method": "mxfp4"})", 0.5 + 1.0 / 32, {}},
      {R"({"quant_method": "fp8"})", 1 + 4.0 / 16384, DType::Fp8E4m3},
      {R"({"quant_method": "fp8", "weight_block_size": [64, 32]})", 1 + 4.0 / 2048, DType::Fp8E4m3},
      {R"({"quant_algo": "FP8"})", 1 + 4.0 / 16384, DType::Fp8E4m3},
      {R"({"quant_algo": "NVFP4"})", 0.5 + 1.0 / 16, DType::Fp4},
      {R"({"quant_algo": "W4A16_AWQ"})", 0.5 + 2.5 / 128, {}},
      {R"({"quant_algo": "W4A8_AWQ"})", 0.5 + 2.0 / 128, DType::Fp8E4m3},
      {R"({"quant_algo": "W8A16"})", 1 + 2.0 / 128, {}},
      {R"({"quant_algo": "INT8_SQ"})", 1 + 4.0 / 4096, DType::Int8},
      {R"({"quant_method": "compressed-tensors", "config_groups": {"g": {
          "weights": {"num_bits": 8, "type": "int"},
          "input_activations": {"num_bits": 8, "type": "int"}}}})",
       1 + 3.0 / 4096, DType::Int8},
      {R"({"quant_method": "compressed-tensors", "config_groups": {"g": {
          "weights": {"num_bits": 8, "type": "float"},
          "input_activations": {"num_bits": 8, "type": "float"}}}})",
       1 + 3.0 / 4096, DType::Fp8E4m3},
      {R"({"quant_method": "compressed-tensors", "config_groups": {"g": {
          "weights": {"num_bits": 4, "type": "float", "group_size": 16},
          "input_activations": {"num_bits": 4, "type": "float"}}}})",
       0.5 + 1.0 / 16, DType::Fp4},
  };
  for (const Case& one : cases) {
    const auto format = format_of(quantized(one.scheme), "mlp.up_proj");
    ASSERT_TRUE(format.has_value()) << one.scheme;
    EXPECT_DOUBLE_EQ(format->bytes, one.bytes) << one.scheme;
    EXPECT_EQ(format->compute, one.compute) << one.scheme;
  }
}

TEST(Quantization, ASingleProjectionCanBeExcluded) {
  const Graph graph = quantized(R"({"quant_method": "awq", "bits": 4,
      "modules_to_not_convert": ["self_attn.o_proj"]})");
  EXPECT_FALSE(format_of(graph, "self_attn.o_proj"));
  EXPECT_TRUE(format_of(graph, "self_attn.q_proj"));
  EXPECT_TRUE(format_of(graph, "mlp.up_proj"));
}

TEST(Quantization, LayersAreExcludedWhereMostAreNamed) {
  const auto without = [](std::string_view layers) {
    const Graph graph =
        quantized(R"({"quant_method": "awq", "bits": 4, "modules_to_not_convert": [)" +
                  std::string(layers) + "]}");
    return !format_of(graph, "mlp.up_proj");
  };
  EXPECT_FALSE(without(R"("model.layers.0.mlp", "model.layers.1.mlp")")) << "two of four";
  EXPECT_TRUE(without(R"("model.layers.0.mlp", "model.layers.1.mlp", "model.layers.3.mlp")"));
  EXPECT_FALSE(without(R"("model.layers.4.mlp", "model.layers.5.mlp", "model.layers.6.mlp")"))
      << "there are only four";
  EXPECT_FALSE(without(R"("model.layers.0.self_attn", "model.layers.1.self_attn",
                          "model.layers.2.self_attn")"));
}

TEST(Quantization, MixedPrecisionNamesItsModules) {
  const Graph graph = quantized(R"({"quant_algo": "MIXED_PRECISION", "quantized_layers": {
      "model.layers.*.mlp": {"quant_algo": "NVFP4"}, "self_attn": {"quant_algo": "FP8"}}})");
  ASSERT_TRUE(format_of(graph, "mlp.up_proj"));
  EXPECT_EQ(format_of(graph, "mlp.up_proj")->compute, DType::Fp4);
  ASSERT_TRUE(format_of(graph, "self_attn.q_proj"));
  EXPECT_EQ(format_of(graph, "self_attn.q_proj")->compute, DType::Fp8E4m3);
}

// Single layers of one module count together, and what the file does not name stays in the FP8 of
// the model that it was made from.
TEST(Quantization, MixedPrecisionByLayerKeepsTheRest) {
  const Graph graph = quantized(R"({"quant_method": "fp8", "weight_block_size": [128, 128],
      "quant_algo": "MIXED_PRECISION", "ignore": ["*.self_attn.*"], "quantized_layers": {
      "layers.0.mlp": {"quant_algo": "NVFP4"}, "layers.1.mlp": {"quant_algo": "NVFP4"},
      "layers.2.mlp": {"quant_algo": "NVFP4"}, "layers.3.mlp": {"quant_algo": "NVFP4"}}})");
  ASSERT_TRUE(format_of(graph, "mlp.up_proj"));
  EXPECT_EQ(format_of(graph, "mlp.up_proj")->compute, DType::Fp4);
  ASSERT_TRUE(format_of(graph, "self_attn.q_proj"));
  EXPECT_EQ(format_of(graph, "self_attn.q_proj")->compute, DType::Fp8E4m3);
}

TEST(Quantization, ExpertsMayHaveAFormatOfTheirOwn) {
  ImportOptions options;
  options.dtype = DType::Bf16;
  options.sequence = 8;
  const std::string text = R"({"model_type": "qwen3_moe", "num_hidden_layers": 2, "num_experts": 4,
      "num_experts_per_tok": 2, "expert_dtype": "fp4",
      "quantization_config": {"quant_method": "fp8", "weight_block_size": [128, 128]}})";
  const auto graph = import_text(text, "c.json", options);
  ASSERT_TRUE(graph.has_value()) << to_string(graph.error());
  ASSERT_TRUE(format_of(*graph, "moe.w1"));
  EXPECT_DOUBLE_EQ(format_of(*graph, "moe.w1")->bytes, 0.5 + 1.0 / 32);
  EXPECT_EQ(format_of(*graph, "moe.w1")->compute, DType::Fp8E4m3);
  EXPECT_DOUBLE_EQ(format_of(*graph, "self_attn.q_proj")->bytes, 1 + 4.0 / (128 * 128));
}

TEST(Quantization, BitsOutOfRangeAreRefused) {
  ImportOptions options;
  options.dtype = DType::Bf16;
  const auto graph = import_text(std::string(kModel) + R"({"quant_method": "gptq", "bits": 17}})",
                                 "c.json", options);
  ASSERT_FALSE(graph.has_value());
  EXPECT_EQ(graph.error().code, ErrorCode::Unsupported);
}

}  // namespace
}  // namespace rooftile::graph
