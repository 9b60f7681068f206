// SPDX-License-Identifier: Apache-2.0
//
// Shape inference of the native graph format.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "execution/launches.h"
#include "graph/import_model.h"

namespace rooftile::graph {
namespace {

/// A graph of one block over one input.
std::string one_block(std::string_view input, std::string_view nodes) {
  return fmt::format(
      R"({{"rooftile_graph": 1, "max_sequence": 512, "symbols": {{"width": 96}},
           "inputs": {{"x": {}}}, "blocks": [{{"name": "b", "nodes": [{}]}}]}})",
      input, nodes);
}

Graph import(const std::string& text, const ImportOptions& options = {}) {
  auto graph = import_text(text, "g.json", options);
  EXPECT_TRUE(graph.has_value()) << to_string(graph.error());
  return graph.value_or(Graph{});
}

/// The last operator of the last block.
template <typename Op>
Op last(const Graph& graph) {
  if (graph.blocks.empty()) return {};
  const auto* op = std::get_if<Op>(&graph.blocks.back().nodes.back().op);
  EXPECT_NE(op, nullptr);
  return op == nullptr ? Op{} : *op;
}

Shape infer(std::string_view input, std::string_view node) {
  // A view behind the node shows the shape that was inferred for it.
  const Graph graph =
      import(one_block(input, fmt::format(R"({}, {{"name": "shown", "op": "dropout"}})", node)));
  return last<ops::View>(graph).shape;
}

TEST(NativeGraph, ConvolutionTakesItsInputFromTheImage) {
  const Graph graph = import(
      one_block(R"(["batch", 16, 30, 40])",
                R"({"name": "c", "op": "conv", "out_channels": 32, "kernel": [3, 5], "stride": 2,
                    "padding": [1, 0], "dilation": [2, 1], "groups": 4, "bias": false})"),
      {.batch = 8});
  // p = (30 + 2 - 2*2 - 1)/2 + 1 = 14, q = (40 - 4 - 1)/2 + 1 = 18
  EXPECT_EQ(last<ops::Conv2d>(graph).output(), (Shape{8, 32, 14, 18}));
  EXPECT_EQ(graph.parameters, 32 * 4 * 3 * 5);
}

// A transposed convolution undoes the shape of its mirror image: 7 -> (7-1)*2 - 2 + 2 + 1 + 1 = 14.
TEST(NativeGraph, TransposedConvolution) {
  const Graph graph = import(
      one_block(R"([2, 64, 7, 7])", R"({"name": "up", "op": "conv", "out_channels": 32, "kernel": 3,
                              "stride": 2, "padding": 1, "output_padding": 1, "transposed": true})"));
  EXPECT_EQ(last<ops::Conv2d>(graph).output(), (Shape{2, 32, 14, 14}));
  EXPECT_EQ(graph.parameters, 64 * 32 * 9 + 32);
  // 2 * 2 * 64 * 7 * 7 * 32 * 9 FLOP: each input element meets every filter element.
  EXPECT_DOUBLE_EQ(execution::launches(graph, {}).front().work.flops.base(),
                   2.0 * 2 * 64 * 49 * 32 * 9);
}

TEST(NativeGraph, PoolingStridesByItsWindow) {
  EXPECT_EQ(infer("[1, 3, 8, 8]", R"({"name": "p", "op": "max_pool", "kernel": 2})"),
            (Shape{1, 3, 4, 4}));
  EXPECT_EQ(infer("[1, 3, 8, 8]", R"({"name": "p", "op": "avg_pool", "kernel": 3, "stride": 2})"),
            (Shape{1, 3, 3, 3}));
  EXPECT_EQ(infer("[1, 3, 8, 8]", R"({"name": "p", "op": "max_pool", "kernel": 3, "stride": 2,
                                      "ceil_mode": true})"),
            (Shape{1, 3, 4, 4}));
  EXPECT_EQ(infer("[1, 3, 8, 8]", R"({"name": "p", "op": "adaptive_avg_pool"})"),
            (Shape{1, 3, 1, 1}));
  EXPECT_EQ(infer("[1, 3, 8, 8]", R"({"name": "p", "op": "adaptive_avg_pool", "output": [4, 2]})"),
            (Shape{1, 3, 4, 2}));
}

TEST(NativeGraph, ShapesOfTensors) {
  EXPECT_EQ(infer("[2, 3, 4]", R"({"name": "n", "op": "flatten"})"), (Shape{2, 12}));
  EXPECT_EQ(infer("[2, 3, 4]", R"({"name": "n", "op": "flatten", "axis": 0})"), (Shape{24}));
  EXPECT_EQ(infer("[5]", R"({"name": "n", "op": "flatten"})"), (Shape{5}));
  EXPECT_EQ(infer("[2, 3, 4]", R"({"name": "n", "op": "reshape", "shape": [4, 6]})"),
            (Shape{4, 6}));
  EXPECT_EQ(infer("[2, 3, 4]", R"({"name": "n", "op": "transpose", "order": [2, 0, 1]})"),
            (Shape{4, 2, 3}));
  EXPECT_EQ(infer("[2, 3, 4]", R"({"name": "n", "op": "slice", "axis": 1, "size": 2})"),
            (Shape{2, 2, 4}));
  EXPECT_EQ(infer("[2, 3, 4]", R"({"name": "n", "op": "linear", "out": 7})"), (Shape{2, 3, 7}));
  EXPECT_EQ(infer("[2, 3]", R"({"name": "n", "op": "embedding", "entries": 9, "width": 5})"),
            (Shape{2, 3, 5}));
}

TEST(NativeGraph, ConcatJoinsAlongAnAxis) {
  EXPECT_EQ(infer("[2, 3, 4]", R"({"name": "a", "op": "relu"},
                                  {"name": "n", "op": "concat", "inputs": ["input", "a"]})"),
            (Shape{2, 6, 4}));
  EXPECT_EQ(infer("[2, 3, 4]", R"({"name": "a", "op": "relu"},
                       {"name": "n", "op": "concat", "inputs": ["input", "a", "a"], "axis": -1})"),
            (Shape{2, 3, 12}));
}

TEST(NativeGraph, SmallerSecondOperandIsBroadcast) {
  const Graph graph =
      import(one_block("[2, 8, 5, 5]", R"({"name": "squeeze", "op": "adaptive_avg_pool"},
                         {"name": "scale", "op": "mul", "inputs": ["input", "squeeze"]})"));
  EXPECT_EQ(last<ops::Elementwise>(graph).second, 2 * 8);
  const Graph scaled =
      import(one_block("[2, 8]", R"({"name": "half", "op": "mul", "scalar": true})"));
  EXPECT_EQ(last<ops::Elementwise>(scaled).operands, ops::Operands::Scalar);
}

TEST(NativeGraph, ProductsAndAttention) {
  const std::string scores = one_block(
      R"(["batch", 12, "seq", 64])",
      R"({"name": "s", "op": "bmm", "inputs": ["input", "input"], "transpose_second": true})");
  EXPECT_EQ(last<ops::BatchedMatmul>(import(scores, {.batch = 2, .sequence = 128})),
            (ops::BatchedMatmul{.batch = 24, .m = 128, .n = 128, .k = 64}));
  const std::string attention = one_block(R"(["batch", "seq", "width"])",
                                          R"({"name": "q", "op": "rotary", "heads": 6},
                   {"name": "kv", "op": "linear", "inputs": ["input"], "out": 32},
                   {"name": "a", "op": "attention", "inputs": ["q", "kv", "kv"], "heads": 6,
                    "kv_heads": 2, "causal": true})");
  const auto op = last<ops::FusedAttention>(import(attention, {.batch = 2, .sequence = 128}));
  EXPECT_EQ(op.shape, (ops::AttentionShape{.batch = 2,
                                           .heads = 6,
                                           .kv_heads = 2,
                                           .queries = 128,
                                           .keys = 128,
                                           .head_dim = 16,
                                           .causal = true}));
}

TEST(NativeGraph, KeyValueHeadsDivideTheHeads) {
  const auto graph = import_text(
      one_block(R"(["batch", "seq", "width"])",
                R"({"name": "a", "op": "attention", "inputs": ["input", "input", "input"],
                    "heads": 6, "kv_heads": 4})"),
      "g.json", {});
  ASSERT_FALSE(graph.has_value());
  EXPECT_EQ(to_string(graph.error()),
            "error: g.json:/blocks/0/nodes/0/kv_heads: 6 heads are not a multiple of 4 key/value "
            "heads\nhint: each key/value head serves the same number of query heads\n");
}

TEST(NativeGraph, RowsMoveByIndex) {
  EXPECT_EQ(infer("[2, 3, 4]", R"({"name": "i", "op": "slice", "axis": 2, "size": 1},
                       {"name": "n", "op": "gather", "inputs": ["input", "i"]})"),
            (Shape{2, 3, 1, 4}));
  const Graph graph = import(one_block("[2, 3, 4]", R"({"name": "i", "op": "slice", "size": 1},
                       {"name": "n", "op": "scatter", "inputs": ["input", "i"], "rows": 9})"));
  EXPECT_EQ(last<ops::Gather>(graph),
            (ops::Gather{.rows = 6, .width = 4, .from = 9, .scatter = true}));
}

TEST(NativeGraph, CastsAndChoices) {
  const Graph graph = import(one_block("[2, 8, 5]", R"({"name": "c", "op": "cast"},
                       {"name": "m", "op": "slice", "inputs": ["input"], "axis": 0, "size": 1},
                       {"name": "w", "op": "where", "inputs": ["c", "m"]})"));
  EXPECT_EQ(
      last<ops::Move>(graph),
      (ops::Move{.kind = ops::MoveKind::Where, .input = {2, 8, 5}, .result = {}, .others = 40}));
}

// 8 experts, 2 per token: 2 * 10 slots of 96 -> 32 -> 96.
TEST(NativeGraph, MixtureOfExperts) {
  const Graph graph =
      import(one_block(R"(["seq", "width"])", R"({"name": "scores", "op": "linear", "out": 8},
          {"name": "choice", "op": "moe_select", "top_k": 2},
          {"name": "tokens", "op": "moe_dispatch", "inputs": ["input", "choice"]},
          {"name": "up", "op": "expert_linear", "experts": 8, "out": 32},
          {"name": "down", "op": "expert_linear", "experts": 8, "out": 96},
          {"name": "sum", "op": "moe_combine", "inputs": ["down", "choice"]})"),
             {.step = Step::Train, .sequence = 10});
  EXPECT_EQ(graph.parameters, 96 * 8 + 8 + 2 * 8 * 96 * 32);
  EXPECT_EQ(last<ops::MoeRouting>(graph).output(), (Shape{10, 96}));
  const auto& up = std::get<ops::ExpertLinear>(graph.blocks.back().nodes[3].op);
  EXPECT_EQ(up, (ops::ExpertLinear{.slots = 20, .experts = 8, .in = 96, .out = 32}));
}

TEST(NativeGraph, SymbolsMultiply) {
  const Graph graph =
      import(one_block(R"(["2*batch", "seq * width"])", R"({"name": "n", "op": "relu"})"),
             {.batch = 3, .sequence = 10});
  EXPECT_EQ(last<ops::Elementwise>(graph).shape, (Shape{6, 960}));
  EXPECT_EQ(graph.sequence, 10);
}

TEST(NativeGraph, DropoutAndLossBelongToTraining) {
  const std::string text = one_block("[4, 10]", R"({"name": "fc", "op": "linear", "out": 5},
                                                   {"name": "drop", "op": "dropout"},
                                                   {"name": "loss", "op": "cross_entropy"})");
  EXPECT_EQ(execution::launches(import(text), {}).size(), 1U);
  EXPECT_EQ(execution::launches(import(text, {.step = Step::Train}), {}).size(), 3U);
  EXPECT_EQ(execution::launches(import(text, {.step = Step::Train, .loss = false}), {}).size(), 2U);
}

// What is upstream of the first parameter needs no backward, the first layer no data gradient.
TEST(NativeGraph, GradientsStopAtTheModelInput) {
  const Graph graph = import(one_block("[4, 10]", R"({"name": "scale", "op": "mul", "scalar": true},
                                                     {"name": "one", "op": "linear", "out": 5},
                                                     {"name": "two", "op": "linear", "out": 6})"),
                             {.step = Step::Train});
  const std::vector<Node>& nodes = graph.blocks.back().nodes;
  EXPECT_FALSE(nodes[0].differentiable);
  EXPECT_TRUE(nodes[1].differentiable);
  EXPECT_FALSE(nodes[1].input_gradient);
  EXPECT_TRUE(nodes[2].input_gradient);
}

TEST(NativeGraph, BlocksRepeatByCount) {
  const std::string text =
      R"({"rooftile_graph": 1, "inputs": {"x": ["batch", 8]}, "blocks": [
           {"name": "layer", "repeat": 1000, "nodes": [
             {"name": "fc", "op": "linear", "out": 8},
             {"name": "sum", "op": "add", "inputs": ["fc", "input"]}]},
           {"name": "head", "nodes": [
             {"name": "both", "op": "concat", "inputs": ["input", "inputs.x", "layer.fc"]}]}]})";
  const Graph graph = import(text);
  EXPECT_EQ(graph.parameters, 1000 * 72);
  EXPECT_EQ(execution::launches(graph, {}).size(), 3U);
  EXPECT_EQ(last<ops::Move>(graph).output(), (Shape{1, 24}));
}

}  // namespace
}  // namespace rooftile::graph
