// SPDX-License-Identifier: Apache-2.0
#include "execution/fuse.h"

#include <gtest/gtest.h>

#include "core/catalog.h"
#include "execution/launches.h"
#include "graph/import_model.h"

namespace rooftile::graph {
namespace {

ops::AnyOp pointwise(ops::Function function, ops::Operands operands) {
  return ops::Elementwise{.function = function, .operands = operands, .shape = {64, 128}};
}

Graph graph_of(std::vector<Node> nodes) {
  Graph graph;
  graph.name = "test";
  graph.blocks.push_back({.name = "b", .repeat = 1, .nodes = std::move(nodes)});
  EXPECT_TRUE(validate(graph));
  return graph;
}

constexpr std::int64_t kElements = 64 * 128;

TEST(Fuse, AChainBecomesOneKernelWithItsOuterBytes) {
  // y = tanh(x * 2) + x, x from a product: reads x once, writes y once.
  const Graph graph =
      graph_of({{.name = "x", .op = ops::Linear{.rows = 64, .in = 8, .out = 128}, .inputs = {}},
                {.name = "twice",
                 .op = pointwise(ops::Function::Mul, ops::Operands::Scalar),
                 .inputs = {"x"}},
                {.name = "tanh",
                 .op = pointwise(ops::Function::Tanh, ops::Operands::Unary),
                 .inputs = {"twice"}},
                {.name = "sum",
                 .op = pointwise(ops::Function::Add, ops::Operands::Binary),
                 .inputs = {"tanh", "x"}}});
  const Graph fused = execution::fuse(graph);
  ASSERT_EQ(fused.blocks[0].nodes.size(), 2U);
  const auto& op = std::get<ops::FusedVector>(fused.blocks[0].nodes[1].op);
  EXPECT_EQ(op.read, kElements);
  EXPECT_EQ(op.written, kElements);
  EXPECT_EQ(op.flop_per_element, 3.0);
  EXPECT_EQ(fused.blocks[0].nodes[1].inputs, (std::vector<std::string>{"x"}));
}

TEST(Fuse, AResidualSumJoinsTheNormAndIsWrittenOnce) {
  const Graph graph = graph_of(
      {{.name = "x", .op = ops::Linear{.rows = 64, .in = 8, .out = 128}, .inputs = {}},
       {.name = "sum",
        .op = pointwise(ops::Function::Add, ops::Operands::Binary),
        .inputs = {"x", "input"}},
       {.name = "ln", .op = ops::LayerNorm{.shape = {64, 128}}, .inputs = {"sum"}},
       {.name = "mlp", .op = ops::Linear{.rows = 64, .in = 128, .out = 128}, .inputs = {"ln"}},
       {.name = "out",
        .op = pointwise(ops::Function::Add, ops::Operands::Binary),
        .inputs = {"mlp", "sum"}}});
  const Graph fused = execution::fuse(graph);
  ASSERT_EQ(fused.blocks[0].nodes.size(), 4U);
  const Node& node = fused.blocks[0].nodes[1];
  const auto& op = std::get<ops::FusedVector>(node.op);
  EXPECT_EQ(op.kind, ops::KernelClass::Norm);
  EXPECT_EQ(op.read, 2 * kElements + 256);  // x, the residual, weight and bias of the norm
  EXPECT_EQ(op.written, 2 * kElements);     // the normed tensor, and the sum for the later reader
  EXPECT_EQ(fused.blocks[0].nodes[3].inputs, (std::vector<std::string>{"mlp", "ln"}));
}

TEST(Fuse, TwoReductionsStayApart) {
  const Graph graph =
      graph_of({{.name = "a", .op = ops::Softmax{.shape = {64, 128}}, .inputs = {}},
                {.name = "b", .op = ops::Softmax{.shape = {64, 128}}, .inputs = {"a"}}});
  EXPECT_EQ(execution::fuse(graph).blocks[0].nodes.size(), 2U);
}

TEST(Fuse, ABatchNormJoinsItsActivationInInferenceOnly) {
  for (const bool training : {false, true}) {
    const ops::BatchNorm norm{
        .n = 2, .c = 8, .spatial = 49, .shape = {2, 8, 7, 7}, .training = training};
    const ops::Elementwise relu{.shape = {2, 8, 7, 7}};
    const Graph fused = execution::fuse(graph_of({{.name = "bn", .op = norm, .inputs = {}},
                                                  {.name = "relu", .op = relu, .inputs = {"bn"}}}));
    EXPECT_EQ(fused.blocks[0].nodes.size(), training ? 2U : 1U);
  }
}

class FuseStep : public testing::TestWithParam<Step> {};

TEST_P(FuseStep, EveryBuiltInModelStaysValidAndMovesFewerBytes) {
  const Catalog catalog = Catalog::embedded();
  const auto models = list_models(catalog);
  ASSERT_TRUE(models);
  for (const ModelSummary& model : *models) {
    const auto graph = import_model(catalog, model.name, {.step = GetParam(), .batch = 2});
    ASSERT_TRUE(graph) << model.name;
    Graph fused = execution::fuse(*graph);
    const Status valid = validate(fused);
    EXPECT_TRUE(valid) << model.name << ": " << (valid ? "" : to_string(valid.error()));
    EXPECT_EQ(fused.parameters, graph->parameters) << model.name;
    Bytes before;
    Bytes after;
    for (const auto& kernel : execution::launches(*graph, {}))
      before += kernel.work.bytes() * static_cast<double>(kernel.count);
    for (const auto& kernel : execution::launches(fused, {}))
      after += kernel.work.bytes() * static_cast<double>(kernel.count);
    EXPECT_LE(after, before) << model.name;
  }
}

INSTANTIATE_TEST_SUITE_P(Steps, FuseStep, testing::Values(Step::Train, Step::Infer));

}  // namespace
}  // namespace rooftile::graph
