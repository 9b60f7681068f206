// SPDX-License-Identifier: Apache-2.0
#include "execution/stack.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "core/catalog.h"
#include "execution/merge.h"
#include "graph/import_model.h"

namespace rooftile::execution {
namespace {

using graph::Graph;

Graph model_of(const char* name, graph::Step step) {
  graph::ImportOptions options;
  options.step = step;
  options.batch = 2;
  options.sequence = 64;
  options.dtype = DType::Bf16;
  options.attention = graph::AttentionKind::Flash;
  return graph::import_model(Catalog::embedded(), name, options).value();
}

/// Kernels of one repetition of all blocks whose name has `word` in it.
int named(const Graph& graph, const std::string& word) {
  int count = 0;
  for (const auto& block : graph.blocks) {
    for (const auto& node : block.nodes) count += node.name.find(word) != std::string::npos ? 1 : 0;
  }
  return count;
}

double flops_of(const Graph& graph) {
  double flops = 0;
  for (const Launch& launch : launches(graph, default_launch_options(graph)))
    flops += launch.work.flops.base() * static_cast<double>(launch.count);
  return flops;
}

std::int64_t launches_of(const Graph& graph) {
  std::int64_t count = 0;
  for (const Launch& launch : launches(graph, default_launch_options(graph))) count += launch.count;
  return count;
}

TEST(Stack, EveryShippedStackIsValid) {
  const auto stacks = list_stacks(Catalog::embedded());
  ASSERT_TRUE(stacks) << to_string(stacks.error());
  std::vector<std::string> ids;
  for (const Stack& stack : *stacks) ids.push_back(stack.id);
  EXPECT_EQ(ids, (std::vector<std::string>{"compile", "eager", "fastertransformer", "fsdp",
                                           "megatron", "megatron-deepspeed", "serving", "xla"}));
}

TEST(Stack, GoesByItsAliases) {
  const auto stack = load_stack(Catalog::embedded(), "vLLM");
  ASSERT_TRUE(stack) << to_string(stack.error());
  EXPECT_EQ(stack->id, "serving");
  EXPECT_TRUE(stack->captures(graph::Step::Decode));
  EXPECT_FALSE(stack->captures(graph::Step::Train));
  const auto unknown = load_stack(Catalog::embedded(), "servign");
  ASSERT_FALSE(unknown);
  EXPECT_NE(to_string(unknown.error()).find("serving"), std::string::npos);
}

TEST(Stack, MistakesInAFileAreNamed) {
  const auto failure = [](const std::string& change) {
    const std::string text = R"({"schema": 1, "id": "x", "name": "x", "kernels": "compiled",
      "attention": "flash", "sources": ["a test"])" +
                             change + "}";
    const auto stack = parse_stack(text, "x.json");
    return stack ? std::string("no error") : to_string(stack.error());
  };
  EXPECT_EQ(failure(""), "no error");
  EXPECT_NE(failure(R"(, "fusions": ["linaer"])").find("linear"), std::string::npos);
  EXPECT_NE(failure(R"(, "captured": ["decoding"])").find("x.json:/captured/0"), std::string::npos);
  EXPECT_NE(failure(R"(, "all_reduce": "two_shot")").find("one_shot"), std::string::npos);
  EXPECT_NE(failure(R"(, "atention": "flash")").find("attention"), std::string::npos);
}

TEST(Merge, QueriesKeysAndValuesAreOneProduct) {
  const Graph graph = model_of("llama3-8b", graph::Step::Decode);
  const Graph merged = merge_linear(graph);
  EXPECT_EQ(named(merged, "q_proj+k_proj+v_proj"), 1);
  EXPECT_EQ(named(merged, "gate_proj+up_proj"), 1);
  EXPECT_DOUBLE_EQ(flops_of(merged), flops_of(graph));
  Graph checked = merged;
  ASSERT_TRUE(validate(checked));
  EXPECT_EQ(checked.parameters, graph.parameters);
  EXPECT_EQ(launches_of(graph) - launches_of(merged), 3 * 32);
}

TEST(Merge, TheRouterStaysAlone) {
  const Graph merged = merge_linear(model_of("mixtral-8x7b", graph::Step::Decode));
  EXPECT_EQ(named(merged, "moe.gate+"), 0);
  EXPECT_EQ(named(merged, "w1+w3"), 1);
}

TEST(Merge, BothRotationsAreOneKernel) {
  const Graph graph = model_of("llama3-8b", graph::Step::Decode);
  const Graph merged = merge_rotary(merge_linear(graph));
  EXPECT_EQ(named(merged, "rotary"), 1);
  EXPECT_DOUBLE_EQ(flops_of(merged), flops_of(graph));
}

TEST(Merge, ANormIsComputedWithTheSumBeforeIt) {
  for (const graph::Step step : {graph::Step::Decode, graph::Step::Infer, graph::Step::Prefill}) {
    const Graph graph = model_of("llama3-8b", step);
    const Graph carried = carry_norms(graph);
    Graph checked = carried;
    ASSERT_TRUE(validate(checked));
    EXPECT_EQ(checked.parameters, graph.parameters);
    // 32 layers: each loses the kernel of its first norm, the head its own; the embedding's block
    // has one more.
    EXPECT_EQ(launches_of(graph) - launches_of(carried), 32);
  }
}

// A chain that ends a block keeps the parameters that it has, 5 here, beside the norm's 2 x 8.
TEST(Merge, AChainKeepsItsParametersWhenItTakesTheNorm) {
  Graph graph;
  graph.dtype = DType::Fp32;
  graph.blocks = {
      {.name = "first",
       .nodes = {{.name = "x", .op = ops::View{{4, 8}}, .inputs = {}},
                 {.name = "chain",
                  .op = ops::FusedVector{.shape = {4, 8},
                                         .flop_per_element = 1,
                                         .inputs = 1,
                                         .read = 32 + 5,
                                         .written = 32,
                                         .parameter_count = 5},
                  .inputs = {"x"}}}},
      {.name = "second",
       .nodes = {{.name = "norm", .op = ops::LayerNorm{.shape = {4, 8}}, .inputs = {"input"}},
                 {.name = "out",
                  .op = ops::Linear{.rows = 4, .in = 8, .out = 8, .bias = false},
                  .inputs = {"norm"}}}}};
  ASSERT_TRUE(validate(graph));
  Graph carried = carry_norms(graph);
  ASSERT_TRUE(validate(carried));
  EXPECT_EQ(carried.blocks[0].nodes.size(), 2U) << "the chain makes the norm";
  EXPECT_EQ(graph.parameters, 5 + 2 * 8 + 8 * 8);
  EXPECT_EQ(carried.parameters, graph.parameters);
}

// What a stack fuses changes kernels, never the model.
TEST(Stack, FusionsKeepTheModel) {
  const auto stacks = list_stacks(Catalog::embedded()).value();
  for (const char* name :
       {"llama3-8b", "gpt2", "bert-large", "opt-1.3b", "mixtral-8x7b", "t5-small", "resnet50"}) {
    for (const Stack& stack : stacks) {
      const Graph graph = std::string(name) == "resnet50"
                              ? graph::import_model(Catalog::embedded(), name, {}).value()
                              : model_of(name, graph::Step::Infer);
      Graph fused = fused_by(stack, graph);
      ASSERT_TRUE(validate(fused)) << name << " " << stack.id;
      EXPECT_EQ(fused.parameters, graph.parameters) << name << " " << stack.id;
      EXPECT_LE(launches_of(fused), launches_of(graph)) << name << " " << stack.id;
    }
  }
}

}  // namespace
}  // namespace rooftile::execution
