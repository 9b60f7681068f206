// SPDX-License-Identifier: Apache-2.0
#include "aggregate/memory.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "graph/import_model.h"

namespace rooftile::aggregate {
namespace {

using graph::Block;
using graph::Graph;
using graph::Node;
using graph::Step;

/// A model input of 4 x 8 and three repetitions of 8 -> 16, ReLU, 16 -> 8.
Graph perceptron(Step step, DType dtype) {
  Graph graph;
  graph.name = "perceptron";
  graph.step = step;
  graph.dtype = dtype;
  graph.blocks.push_back(
      {.name = "inputs", .nodes = {{.name = "x", .op = ops::View{{4, 8}}, .inputs = {}}}});
  graph.blocks.push_back(
      {.name = "layer",
       .repeat = 3,
       .nodes = {
           {.name = "up", .op = ops::Linear{.rows = 4, .in = 8, .out = 16}, .inputs = {"input"}},
           {.name = "act",
            .op = ops::Elementwise{.function = ops::Function::Relu, .shape = {4, 16}},
            .inputs = {"up"}},
           {.name = "down", .op = ops::Linear{.rows = 4, .in = 16, .out = 8}, .inputs = {"act"}},
       }});
  EXPECT_TRUE(graph::validate(graph).has_value());
  return graph;
}

// Parameters of a repetition: 8*16 + 16 + 16*8 + 8 = 280.
TEST(Memory, WeightsGradientsAndStateOfTheOptimizer) {
  const MemoryEstimate fp32 =
      memory(perceptron(Step::Train, DType::Fp32), {.optimizer = ops::Optimizer::Adam});
  EXPECT_EQ(fp32.weights, Bytes::from_base(3 * 280 * 4));
  EXPECT_EQ(fp32.gradients, fp32.weights);
  EXPECT_EQ(fp32.optimizer, Bytes::from_base(3 * 280 * 4 * 2));
  // 16 bytes per parameter: 2 + 2, and FP32 master weights and moments.
  const MemoryEstimate bf16 =
      memory(perceptron(Step::Train, DType::Bf16), {.optimizer = ops::Optimizer::AdamW});
  EXPECT_EQ(bf16.weights + bf16.gradients + bf16.optimizer, Bytes::from_base(3 * 280 * 16));
  const MemoryEstimate sgd =
      memory(perceptron(Step::Train, DType::Fp32), {.optimizer = ops::Optimizer::Sgd});
  EXPECT_EQ(sgd.optimizer, Bytes{});
  const MemoryEstimate momentum =
      memory(perceptron(Step::Train, DType::Fp32), {.optimizer = ops::Optimizer::SgdMomentum});
  EXPECT_EQ(momentum.optimizer, momentum.weights);
  const MemoryEstimate infer =
      memory(perceptron(Step::Infer, DType::Fp32), {.optimizer = ops::Optimizer::Adam});
  EXPECT_EQ(infer.gradients + infer.optimizer, Bytes{});
}

// 8-bit matrices in inference; biases count with their matrix. In training the weights are BF16.
TEST(Memory, NarrowFormatsStoreTheMatricesOfInference) {
  EXPECT_EQ(memory(perceptron(Step::Infer, DType::Fp8E4m3), {}).weights,
            Bytes::from_base(3 * 280 * 1));
  EXPECT_EQ(memory(perceptron(Step::Train, DType::Fp8E4m3), {}).weights,
            Bytes::from_base(3 * 280 * 2));
}

constexpr MemoryOptions kRecompute{.optimizer = {},
                                   .activations = {.compiled = false, .recompute = true}};

// Kept per repetition: the input of `up` (4*8*4 = 128 B) and the output of the ReLU, which both the
// ReLU and `down` need (4*16*4 = 256 B, once). When the backward pass is at the ReLU of the last
// repetition, the gradients of its output and its input (2 * 256 B) live next to all of that.
TEST(Memory, TrainingKeepsEachTensorOnceAndGradientsOfActivations) {
  const MemoryEstimate train = memory(perceptron(Step::Train, DType::Fp32), {});
  EXPECT_EQ(train.kept, Bytes::from_base(3 * (128 + 256)));
  EXPECT_EQ(train.activations, Bytes::from_base(3 * (128 + 256) + 2 * 256));
}

// Three inputs, the inside of one repetition, and the two gradients of its ReLU.
TEST(Memory, RecomputationKeepsTheInputsOfBlocks) {
  const MemoryEstimate train = memory(perceptron(Step::Train, DType::Fp32), kRecompute);
  EXPECT_EQ(train.kept, Bytes::from_base(3 * 128));
  EXPECT_EQ(train.activations, Bytes::from_base(3 * 128 + 256 + 2 * 256));
}

// A stage of a pipeline: `up` of the first repetition keeps what the stage before sent.
TEST(Memory, AStageKeepsWhatItReceives) {
  Graph graph = perceptron(Step::Train, DType::Fp32);
  graph.blocks.erase(graph.blocks.begin());
  ASSERT_TRUE(graph::validate(graph).has_value());
  const auto kept = [&](bool recompute) {
    return memory(graph, {.optimizer = {},
                          .activations = {.compiled = false,
                                          .recompute = recompute,
                                          .received = Bytes::from_base(128)}})
        .kept;
  };
  EXPECT_EQ(kept(false), Bytes::from_base(3 * (128 + 256)));
  EXPECT_EQ(kept(true), Bytes::from_base(3 * 128));
}

// Live at `up`: 128 + 256; at the ReLU, whose block input is dead: 256 + 256; at `down`: 256 + 128.
TEST(Memory, InferenceNeedsTheLargestLiveSet) {
  EXPECT_EQ(memory(perceptron(Step::Infer, DType::Fp32), {}).activations,
            Bytes::from_base(256 + 256));
}

// A residual keeps the block's input alive over all of the block: 128 + 256 + 256.
TEST(Memory, ResidualExtendsTheLifeOfTheInput) {
  Graph graph = perceptron(Step::Infer, DType::Fp32);
  graph.blocks[1].nodes.push_back(
      {.name = "sum",
       .op = ops::Elementwise{.operands = ops::Operands::Binary, .shape = {4, 8}},
       .inputs = {"down", "input"}});
  ASSERT_TRUE(graph::validate(graph).has_value());
  EXPECT_EQ(memory(graph, {}).activations, Bytes::from_base(128 + 256 + 256));
}

// The last block reads the output of the first (an encoder): it lives through the block between.
TEST(Memory, TensorsOfEarlierBlocksStayAlive) {
  Graph graph = perceptron(Step::Infer, DType::Fp32);
  graph.blocks.push_back(
      {.name = "head",
       .nodes = {{.name = "sum",
                  .op = ops::Elementwise{.operands = ops::Operands::Binary, .shape = {4, 8}},
                  .inputs = {"input", "inputs.x"}}}});
  ASSERT_TRUE(graph::validate(graph).has_value());
  EXPECT_EQ(memory(graph, {}).activations, Bytes::from_base(128 + 256 + 256));
  // Trained as a product, the head keeps both of its operands: x, which the first layer keeps
  // already, and the output of the last layer (128 B). At the ReLU that is gone, and the gradient
  // of x (128 B) lives until the backward pass comes to its block.
  graph.step = Step::Train;
  graph.blocks[2].nodes[0].op = ops::Elementwise{
      .function = ops::Function::Mul, .operands = ops::Operands::Binary, .shape = {4, 8}};
  ASSERT_TRUE(graph::validate(graph).has_value());
  EXPECT_EQ(memory(graph, {}).kept, Bytes::from_base(3 * (128 + 256) + 128));
  EXPECT_EQ(memory(graph, {}).activations, Bytes::from_base(3 * (128 + 256) + 128 + 2 * 256));
}

// Views have no bytes of their own: what looks at `up` keeps `up`.
TEST(Memory, ViewsAreFree) {
  Graph graph = perceptron(Step::Infer, DType::Fp32);
  std::vector<Node>& nodes = graph.blocks[1].nodes;
  nodes.insert(nodes.begin() + 1,
               {.name = "view", .op = ops::View{.shape = {64}}, .inputs = {"up"}});
  nodes[2].inputs = {"view"};
  ASSERT_TRUE(graph::validate(graph).has_value());
  EXPECT_EQ(memory(graph, {}), memory(perceptron(Step::Infer, DType::Fp32), {}));
  graph.step = Step::Train;
  EXPECT_EQ(memory(graph, {}), memory(perceptron(Step::Train, DType::Fp32), {}));
}

TEST(Memory, RepetitionCostsNoTime) {
  Graph graph = perceptron(Step::Train, DType::Fp32);
  graph.blocks[1].repeat = 1'000'000;
  ASSERT_TRUE(graph::validate(graph).has_value());
  EXPECT_EQ(memory(graph, {}).kept, Bytes::from_base(1e6 * (128 + 256)));
  EXPECT_EQ(memory(graph, {}).activations, Bytes::from_base(1e6 * (128 + 256) + 2 * 256));
}

// Keys and values of 12 layers, 12 heads of 64, 4 sequences of 100 + 1 tokens, 2 bytes each.
TEST(Memory, KeyValueCache) {
  const auto graph =
      graph::import_model(Catalog::embedded(), "gpt2",
                          {.step = Step::Decode, .batch = 4, .context = 100, .dtype = DType::Fp16});
  ASSERT_TRUE(graph.has_value()) << to_string(graph.error());
  EXPECT_EQ(memory(*graph, {}).kv_cache, Bytes::from_base(2.0 * 12 * 12 * 64 * 4 * 101 * 2));
}

// conv 3 -> 8 (3 x 3, padded), batch norm, ReLU on one 3 x 4 x 4 image in FP32: the convolution
// keeps the image (192 B), the norm its input (512 B) and two numbers per channel (64 B), the ReLU
// its output (512 B). The peak is at the ReLU, with the gradients of its output and its input.
TEST(Memory, ConvolutionalLayer) {
  const auto graph = graph::import_text(
      R"({"rooftile_graph": 1, "inputs": {"image": ["batch", 3, 4, 4]}, "blocks": [
           {"name": "b", "nodes": [
             {"name": "conv", "op": "conv", "out_channels": 8, "kernel": 3, "padding": 1},
             {"name": "bn", "op": "batch_norm"}, {"name": "relu", "op": "relu"}]}]})",
      "g.json", {.step = Step::Train});
  ASSERT_TRUE(graph.has_value()) << to_string(graph.error());
  EXPECT_EQ(memory(*graph, {}).kept, Bytes::from_base(192 + 512 + 64 + 512));
  EXPECT_EQ(memory(*graph, {}).activations, Bytes::from_base(192 + 512 + 64 + 512 + 2 * 512));
}

Graph gpt2_like(int layers, graph::AttentionKind attention, std::string_view activation = "gelu") {
  const std::string config = fmt::format(
      R"({{"model_type": "gpt2", "activation_function": "{}", "n_embd": 1280, "n_head": 20,
           "n_layer": {}, "n_positions": 1024, "vocab_size": 50257}})",
      activation, layers);
  auto graph = graph::import_text(config, "config.json",
                                  {.step = Step::Train,
                                   .batch = 4,
                                   .sequence = 1024,
                                   .dtype = DType::Bf16,
                                   .attention = attention});
  EXPECT_TRUE(graph.has_value()) << to_string(graph.error());
  return *graph;
}

Bytes kept_by_a_layer(graph::AttentionKind attention, const MemoryOptions& options) {
  return memory(gpt2_like(2, attention), options).kept -
         memory(gpt2_like(1, attention), options).kept;
}

// Korthikanti et al. 2022, eq. 2: a layer keeps s b h (34 + 5 a s / h) bytes in 16 bits. We also
// count the statistics of its two norms, 2 * 2 FP32 numbers per token, and the boolean mask.
TEST(Memory, LayerOfATransformerIsAsPublished) {
  constexpr double kS = 1024, kB = 4, kH = 1280, kA = 20;
  const double published = kS * kB * kH * (34 + 5 * kA * kS / kH);
  EXPECT_DOUBLE_EQ(kept_by_a_layer(graph::AttentionKind::Eager, {}).base(),
                   published + 16 * kS * kB + kS * kS);
}

// Selective recomputation of the same paper (section 5) is what a fused kernel does: 34 s b h; it
// keeps the output and one log-sum-exp per query and head, but no mask of dropped scores.
TEST(Memory, FusedAttentionKeepsNoScores) {
  constexpr double kS = 1024, kB = 4, kH = 1280, kA = 20;
  const double published = kS * kB * kH * 34;
  const double ours = kept_by_a_layer(graph::AttentionKind::Flash, {}).base();
  EXPECT_DOUBLE_EQ(ours, published + 16 * kS * kB + 4 * kA * kS * kB);
}

// GELU written out keeps x, tanh, 1 + tanh, x / 2 and the product where one kernel keeps two: three
// more tensors of s b 4h in 16 bits.
TEST(Memory, ActivationWrittenOutKeepsItsParts) {
  const auto layer = [](std::string_view activation) {
    return memory(gpt2_like(2, graph::AttentionKind::Eager, activation), {}).kept -
           memory(gpt2_like(1, graph::AttentionKind::Eager, activation), {}).kept;
  };
  EXPECT_DOUBLE_EQ((layer("gelu_new") - layer("gelu")).base(), 24.0 * 1024 * 4 * 1280);
}

// Full recomputation keeps 2 s b h per layer.
TEST(Memory, RecomputedLayerKeepsItsInput) {
  EXPECT_DOUBLE_EQ(kept_by_a_layer(graph::AttentionKind::Eager, kRecompute).base(),
                   2.0 * 1024 * 4 * 1280);
}

// 36 layers as published plus the rest: 774,030,080 parameters at 16 bytes.
TEST(Memory, Gpt2LargeTraining) {
  const MemoryEstimate estimate =
      memory(gpt2_like(36, graph::AttentionKind::Eager), {.optimizer = ops::Optimizer::AdamW});
  EXPECT_DOUBLE_EQ((estimate.weights + estimate.gradients + estimate.optimizer).base(),
                   774'030'080.0 * 16);
  const double layers = 36 * 1024.0 * 4 * 1280 * (34 + 5 * 20 * 1024.0 / 1280);
  EXPECT_NEAR(estimate.kept.base() / layers, 1.0, 0.05);  // embedding, head and logits
  EXPECT_GT(estimate.kept.base(), layers);
  // The loss makes the gradient of the logits on top of everything that is kept.
  EXPECT_GE(estimate.activations - estimate.kept, Bytes::from_base(4.0 * 1024 * 50257 * 2));
}

// silu(gate) * up: alone, the functions keep gate, silu(gate) and up; as one kernel gate and up.
// The sum before a norm is read again behind it and is kept as it is, not as its two operands.
TEST(Memory, AKernelKeepsItsInputsOrWhatLiesBetween) {
  Graph graph = perceptron(Step::Train, DType::Fp32);
  std::vector<Node>& nodes = graph.blocks[1].nodes;
  const auto linear = [](const char* name, std::int64_t in, std::int64_t out, const char* input) {
    return Node{
        .name = name, .op = ops::Linear{.rows = 4, .in = in, .out = out}, .inputs = {input}};
  };
  nodes = {linear("gate", 8, 16, "input"),
           linear("up", 8, 16, "input"),
           {.name = "silu",
            .op = ops::Elementwise{.function = ops::Function::Silu, .shape = {4, 16}},
            .inputs = {"gate"}},
           {.name = "mul",
            .op = ops::Elementwise{.function = ops::Function::Mul,
                                   .operands = ops::Operands::Binary,
                                   .shape = {4, 16}},
            .inputs = {"silu", "up"}},
           linear("down", 16, 8, "mul")};
  ASSERT_TRUE(graph::validate(graph).has_value());
  const MemoryOptions compiled{.optimizer = {},
                               .activations = {.compiled = true, .recompute = false}};
  // The input (128 B), gate, silu(gate), up and their product (256 B each).
  EXPECT_EQ(memory(graph, {}).kept, Bytes::from_base(3 * (128 + 4 * 256)));
  EXPECT_EQ(memory(graph, compiled).kept, Bytes::from_base(3 * (128 + 3 * 256)));

  nodes.push_back({.name = "sum",
                   .op = ops::Elementwise{.operands = ops::Operands::Binary, .shape = {4, 8}},
                   .inputs = {"down", "input"}});
  nodes.push_back({.name = "norm", .op = ops::LayerNorm{.shape = {4, 8}}, .inputs = {"sum"}});
  nodes.push_back(linear("mix", 8, 8, "norm"));
  nodes.push_back({.name = "out",
                   .op = ops::Elementwise{.operands = ops::Operands::Binary, .shape = {4, 8}},
                   .inputs = {"mix", "sum"}});
  ASSERT_TRUE(graph::validate(graph).has_value());
  // And the sum, the norm's output (128 B each) and its statistics (4 rows of 2 FP32 numbers).
  EXPECT_EQ(memory(graph, {}).kept, Bytes::from_base(3 * (128 + 4 * 256 + 2 * 128 + 32)));
  EXPECT_EQ(memory(graph, compiled).kept, Bytes::from_base(3 * (128 + 3 * 256 + 2 * 128 + 32)));
}

// silu(left + right), where products keep left and right anyway: the sum between them, which silu
// needs, is made again from both for nothing. All in one block.
TEST(Memory, WhatLiesBetweenIsMadeAgainFromWhatOthersKeep) {
  Graph graph = perceptron(Step::Train, DType::Fp32);
  const auto linear = [](const char* name, std::int64_t in, std::int64_t out, const char* input) {
    return Node{
        .name = name, .op = ops::Linear{.rows = 4, .in = in, .out = out}, .inputs = {input}};
  };
  const auto sum = [](const char* name, std::int64_t width, const char* first, const char* second) {
    return Node{.name = name,
                .op = ops::Elementwise{.operands = ops::Operands::Binary, .shape = {4, width}},
                .inputs = {first, second}};
  };
  graph.blocks = {
      {.name = "all",
       .nodes = {{.name = "x", .op = ops::View{{4, 8}}, .inputs = {}},
                 linear("left", 8, 16, "x"),
                 linear("right", 8, 16, "x"),
                 linear("left_out", 16, 8, "left"),
                 linear("right_out", 16, 8, "right"),
                 sum("between", 16, "left", "right"),
                 {.name = "silu",
                  .op = ops::Elementwise{.function = ops::Function::Silu, .shape = {4, 16}},
                  .inputs = {"between"}},
                 linear("down", 16, 8, "silu"),
                 sum("outs", 8, "left_out", "right_out"),
                 sum("end", 8, "outs", "down")}}};
  ASSERT_TRUE(graph::validate(graph).has_value());
  const MemoryOptions compiled{.optimizer = {},
                               .activations = {.compiled = true, .recompute = false}};
  // x (128 B), left, right, what silu gives and, launched one by one, the sum (256 B each).
  EXPECT_EQ(memory(graph, {}).kept, Bytes::from_base(128 + 4 * 256));
  EXPECT_EQ(memory(graph, compiled).kept, Bytes::from_base(128 + 3 * 256));
}

}  // namespace
}  // namespace rooftile::aggregate
