// SPDX-License-Identifier: Apache-2.0
#include "execution/expert_parallel.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <variant>

#include "execution/tensor_parallel.h"
#include "graph/import_model.h"

namespace rooftile::execution {
namespace {

using graph::AttentionKind;
using graph::Graph;
using graph::Step;

Graph decode(std::string_view name, std::int64_t batch) {
  auto graph = graph::import_model(Catalog::embedded(), name,
                                   {.step = Step::Decode,
                                    .batch = batch,
                                    .context = 64,
                                    .dtype = DType::Bf16,
                                    .attention = AttentionKind::Flash});
  EXPECT_TRUE(graph) << to_string(graph.error());
  return graph.value_or(Graph{});
}

const Node& layer_node(const Graph& graph, std::string_view name) {
  for (const Block& block : graph.blocks) {
    if (block.name != "layer") continue;
    for (const Node& node : block.nodes) {
      if (node.name == name) return node;
    }
  }
  ADD_FAILURE() << "no " << name;
  return graph.blocks.front().nodes.front();
}

const ops::ExpertLinear& experts_of(const Graph& graph, std::string_view name) {
  return std::get<ops::ExpertLinear>(layer_node(graph, name).op);
}

// The largest of 4 normal numbers is 1.0294 sigma above their mean, of 8 1.4236.
TEST(ExpertParallel, TheBusiestGpuHasMoreThanTheMean) {
  // 1024 tokens, 8 of 128 experts, 4 GPUs: mean 2048, sigma^2 = 1024 x 2 x 3/4 x 120/127 = 1451.3,
  // 2048 + 1.0294 x 38.10 = 2087.2; every expert is hit.
  const BusiestShare prefill = busiest_share(1024, 8, 128, 4);
  EXPECT_EQ(prefill.slots, 2087);
  EXPECT_EQ(prefill.hit, 32);
  // One token, 8 of 256 on 8 GPUs: mean 1, sigma^2 = 7/8 x 248/255 = 0.851; 1 + 1.4236 x 0.9225 =
  // 2.31. Experts: p = 1/32, sigma^2 = 32 p (1 - p) 7/8 = 0.848; 1 + 1.4236 x 0.9207 = 2.31.
  const BusiestShare token = busiest_share(1, 8, 256, 8);
  EXPECT_EQ(token.slots, 2);
  EXPECT_EQ(token.hit, 2);
  // All experts on one GPU: nothing scatters.
  EXPECT_EQ(busiest_share(16, 2, 8, 1).slots, 32);
}

TEST(ExpertParallel, GpusHoldWholeExperts) {
  const Graph whole = decode("qwen3-30b-a3b", 16);
  const auto tensor = split_tensors(whole, 4, 1);
  const auto part = split_tensors(whole, 4, 4);
  const auto mixed = split_tensors(whole, 4, 2);
  ASSERT_TRUE(tensor && part && mixed);
  EXPECT_EQ(experts_of(*tensor, "moe.w1").experts, 128);
  EXPECT_EQ(experts_of(*tensor, "moe.w1").out, 768 / 4);
  EXPECT_EQ(experts_of(*part, "moe.w1").experts, 32);
  EXPECT_EQ(experts_of(*part, "moe.w1").out, 768);
  EXPECT_EQ(experts_of(*mixed, "moe.w1").experts, 64);
  EXPECT_EQ(experts_of(*mixed, "moe.w2").in, 768 / 2);
  const BusiestShare share = busiest_share(16, 8, 128, 4);
  EXPECT_EQ(experts_of(*part, "moe.w2").slots, share.slots);
  EXPECT_EQ(experts_of(*part, "moe.w2").touched(), share.hit);
  EXPECT_EQ(ops::output_of(layer_node(*part, "moe.product").op), (Shape{share.slots, 768}));
  // The same memory, and one sum of tokens x width behind the combination.
  EXPECT_EQ(part->parameters, tensor->parameters);
  EXPECT_EQ(layer_node(*part, "moe.w2").reduced_output, 0);
  EXPECT_EQ(layer_node(*part, "moe.combine").reduced_output, 16 * 2048);
}

TEST(ExpertParallel, WhatCannotBeDealtOutIsAnError) {
  const auto dense = split_tensors(decode("llama3-8b", 1), 4, 4);
  ASSERT_FALSE(dense);
  EXPECT_EQ(dense.error().message, "has no experts that --ep could deal out");
  const auto three = split_tensors(decode("mixtral-8x7b", 1), 16, 16);
  ASSERT_FALSE(three);
  EXPECT_EQ(three.error().message, "8 experts are not divisible by --ep 16");
}

}  // namespace
}  // namespace rooftile::execution
