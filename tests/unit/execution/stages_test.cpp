// SPDX-License-Identifier: Apache-2.0
#include "execution/stages.h"

#include <gtest/gtest.h>

#include "execution/fuse.h"
#include "execution/tensor_parallel.h"
#include "graph/import_model.h"

namespace rooftile::graph {
namespace {

Graph model(const std::string& name, Step step, std::int64_t batch) {
  auto graph =
      import_model(Catalog::embedded(), name, {.step = step, .batch = batch, .sequence = 128});
  EXPECT_TRUE(graph) << (graph ? "" : to_string(graph.error()));
  return graph.value_or(Graph{});
}

const Node& node_of(const Graph& graph, std::string_view block, std::string_view name) {
  for (const Block& b : graph.blocks) {
    for (const Node& n : b.nodes) {
      if (b.name == block && n.name == name) return n;
    }
  }
  ADD_FAILURE() << block << "/" << name;
  return graph.blocks.front().nodes.front();
}

TEST(Stages, LayersAreDealtOutAndCounted) {
  const Graph gpt2 = model("gpt2", Step::Train, 1);  // 12 layers of 768, vocabulary 50257
  const auto stages = execution::split_stages(gpt2, 4);
  ASSERT_TRUE(stages);
  ASSERT_EQ(stages->size(), 3U);  // first, two in the middle, last
  EXPECT_EQ((*stages)[0].count, 1);
  EXPECT_EQ((*stages)[1].count, 2);
  EXPECT_EQ((*stages)[1].graph.blocks.size(), 1U);
  EXPECT_EQ((*stages)[1].graph.blocks[0].repeat, 3);
  // 128 tokens x 768 x 4 bytes to the next stage.
  EXPECT_EQ((*stages)[0].output, Bytes::from_base(128.0 * 768 * 4));
  EXPECT_EQ((*stages)[2].output, Bytes{});
  // The tied logits have a copy of their own on the last stage.
  const std::int64_t sum = (*stages)[0].graph.parameters + 2 * (*stages)[1].graph.parameters +
                           (*stages)[2].graph.parameters;
  EXPECT_EQ(sum, gpt2.parameters + 50257 * 768);
}

TEST(Stages, RemaindersGoToTheFirst) {
  const auto stages = execution::split_stages(model("gpt2", Step::Infer, 1), 5);  // 3 3 2 2 2
  ASSERT_TRUE(stages);
  std::vector<std::int64_t> layers;
  for (const execution::Stage& stage : *stages) {
    for (const Block& block : stage.graph.blocks) {
      if (block.repeat > 1) layers.insert(layers.end(), std::size_t(stage.count), block.repeat);
    }
  }
  EXPECT_EQ(layers, (std::vector<std::int64_t>{3, 3, 2, 2, 2}));
}

TEST(Stages, MoreStagesThanLayersAreAnError) {
  const auto stages = execution::split_stages(model("gpt2", Step::Infer, 1), 13);
  ASSERT_FALSE(stages);
  EXPECT_EQ(stages.error().message, "12 layers cannot be divided among the 13 stages of --pp");
}

TEST(Stages, EveryModelCanBeCut) {
  const auto models = list_models(Catalog::embedded());
  ASSERT_TRUE(models);
  for (const ModelSummary& summary : *models) {
    const auto graph = import_model(Catalog::embedded(), summary.name, {.step = Step::Train});
    ASSERT_TRUE(graph) << summary.name;
    const auto stages = execution::split_stages(*graph, 2);
    ASSERT_TRUE(stages) << summary.name << ": " << to_string(stages.error());
    std::int64_t parameters = 0;
    for (const execution::Stage& stage : *stages)
      parameters += stage.graph.parameters * stage.count;
    EXPECT_GE(parameters, graph->parameters) << summary.name;
  }
}

TEST(TensorParallel, MegatronsSplitOfGpt2) {
  const Graph gpt2 = model("gpt2", Step::Train, 4);
  const auto half = execution::split_tensors(gpt2, 2, 1);
  ASSERT_TRUE(half) << to_string(half.error());
  const auto linear = [&](std::string_view name) {
    return std::get<ops::Linear>(node_of(*half, "layer", name).op);
  };
  EXPECT_EQ(linear("attn.c_attn").out, 3 * 768 / 2);
  EXPECT_EQ(linear("attn.c_proj").in, 768 / 2);
  EXPECT_EQ(linear("mlp.c_fc").out, 4 * 768 / 2);
  EXPECT_EQ(linear("mlp.c_proj").in, 4 * 768 / 2);
  EXPECT_EQ(linear("mlp.c_proj").out, 768);
  EXPECT_EQ(std::get<ops::Softmax>(node_of(*half, "layer", "attn.softmax").op).shape,
            (Shape{4, 6, 128, 128}));
  // Two sums forward and two backward per layer, of batch x tokens x width.
  const std::int64_t hidden = 4 * 128 * 768;
  EXPECT_EQ(node_of(*half, "layer", "attn.c_proj").reduced_output, hidden);
  EXPECT_EQ(node_of(*half, "layer", "mlp.c_proj").reduced_output, hidden);
  EXPECT_EQ(node_of(*half, "layer", "attn.c_attn").reduced_gradient, hidden);
  EXPECT_EQ(node_of(*half, "layer", "mlp.c_fc").reduced_gradient, hidden);
  std::int64_t sums = 0;
  for (const execution::Reduction& r :
       execution::reductions(*half, execution::default_launch_options(*half))) {
    if (r.name.starts_with("layer/")) sums += r.count;
  }
  EXPECT_EQ(sums, 4 * 12);
}

TEST(TensorParallel, ProductsAreSharedOut) {
  // The FLOPs of products on all GPUs together are those of one GPU, but for the padded vocabulary.
  for (const char* name : {"gpt2", "bert-base", "llama3-8b", "t5-small", "opt-125m"}) {
    const Graph whole = model(name, Step::Train, 2);
    const auto part = execution::split_tensors(whole, 4, 1);
    ASSERT_TRUE(part) << name << ": " << to_string(part.error());
    const auto products = [](const Graph& graph) {
      double flops = 0;
      for (const execution::Launch& kernel :
           execution::launches(graph, execution::default_launch_options(graph))) {
        if (std::holds_alternative<ops::GemmShape>(kernel.work.shape)) {
          flops += kernel.work.flops.base() * static_cast<double>(kernel.count);
        }
      }
      return flops;
    };
    EXPECT_NEAR(products(*part) * 4 / products(whole), 1.0, 0.02) << name;
    EXPECT_LT(part->parameters, whole.parameters) << name;
  }
}

TEST(TensorParallel, QueriesKeysAndValuesShareOneSum) {
  const auto part = execution::split_tensors(model("llama3-8b", Step::Train, 1), 4, 1);
  ASSERT_TRUE(part);
  EXPECT_GT(node_of(*part, "layer", "self_attn.q_proj").reduced_gradient, 0);
  EXPECT_EQ(node_of(*part, "layer", "self_attn.k_proj").reduced_gradient, 0);
  EXPECT_EQ(node_of(*part, "layer", "self_attn.v_proj").reduced_gradient, 0);
}

TEST(TensorParallel, ARouterIsRepeated) {
  const auto part = execution::split_tensors(model("mixtral-8x7b", Step::Infer, 1), 4, 1);
  ASSERT_TRUE(part) << to_string(part.error());
  EXPECT_EQ(std::get<ops::Linear>(node_of(*part, "layer", "moe.gate").op).out, 8);
  EXPECT_EQ(std::get<ops::ExpertLinear>(node_of(*part, "layer", "moe.w1").op).out, 14336 / 4);
}

TEST(TensorParallel, ExpertsAreAddedUpBehindTheirCombination) {
  // Per layer one sum behind attention, one of batch x tokens x width behind the experts: the
  // slots of all experts of a token are combined before GPUs talk.
  const std::int64_t hidden = 128 * 4096;
  const auto part = execution::split_tensors(model("mixtral-8x7b", Step::Infer, 1), 4, 1);
  ASSERT_TRUE(part) << to_string(part.error());
  EXPECT_EQ(node_of(*part, "layer", "moe.w2").reduced_output, 0);
  EXPECT_EQ(node_of(*part, "layer", "moe.combine").reduced_output, hidden);
  // Shared experts join the same sum; fusing leaves it in place.
  const auto deepseek = execution::split_tensors(model("deepseek-v3", Step::Infer, 1), 8, 1);
  ASSERT_TRUE(deepseek) << to_string(deepseek.error());
  for (const Graph& graph : {*deepseek, execution::fuse(*deepseek)}) {
    std::int64_t sums = 0;
    for (const Block& block : graph.blocks) {
      if (block.name != "layer") continue;
      for (const Node& node : block.nodes) sums += node.reduced_output;
    }
    EXPECT_EQ(sums, 2 * 128 * 7168);
  }
}

TEST(TensorParallel, ParallelBlocksNeedOneSum) {
  const auto part = execution::split_tensors(model("gpt-j-6b", Step::Infer, 1), 4, 1);
  ASSERT_TRUE(part) << to_string(part.error());
  std::int64_t sums = 0;
  for (const Block& block : part->blocks) {
    for (const Node& node : block.nodes) {
      if (block.name == "layer") sums += node.reduced_output;
    }
  }
  EXPECT_EQ(sums, 128 * 4096);
}

TEST(TensorParallel, FewKeyValueHeadsAreCopied) {
  // 4 key/value heads of 128 on 8 GPUs: each GPU holds one of them, and its cache.
  const auto part = execution::split_tensors(
      *import_model(Catalog::embedded(), "qwen3-30b-a3b",
                    {.step = Step::Decode, .context = 64, .attention = AttentionKind::Flash}),
      8, 1);
  ASSERT_TRUE(part) << to_string(part.error());
  EXPECT_EQ(std::get<ops::Linear>(node_of(*part, "layer", "self_attn.k_proj").op).out, 128);
  EXPECT_EQ(std::get<ops::Linear>(node_of(*part, "layer", "self_attn.q_proj").op).out, 512);
  const auto& attention =
      std::get<ops::FusedAttention>(node_of(*part, "layer", "self_attn.attention").op).shape;
  EXPECT_EQ(attention.heads, 4);
  EXPECT_EQ(attention.kv_heads, 1);
  ASSERT_TRUE(part->kv_cache);
  EXPECT_EQ(part->kv_cache->parts.front().kv_heads, 1);
}

TEST(TensorParallel, SinksDoNotKeepHeadsTogether) {
  const auto part = execution::split_tensors(
      *import_model(Catalog::embedded(), "gpt-oss-20b",
                    {.step = Step::Decode, .context = 64, .attention = AttentionKind::Flash}),
      8, 1);
  ASSERT_TRUE(part) << to_string(part.error());
  EXPECT_EQ(
      std::get<ops::FusedAttention>(node_of(*part, "layer", "self_attn.attention").op).shape.heads,
      8);
}

Result<Graph> halves(const std::string& config) {
  auto graph = import_text(
      config, "c.json", {.step = Step::Decode, .context = 64, .attention = AttentionKind::Flash});
  EXPECT_TRUE(graph) << to_string(graph.error());
  return execution::split_tensors(*graph, 2, 1);
}

TEST(TensorParallel, LogitsOfAnOddVocabularyArePadded) {
  // 49155 entries and the scale of the logits: 24578 on each of two GPUs.
  const auto part = halves(R"({"model_type": "granite", "vocab_size": 49155, "logits_scaling": 8.0,
                               "num_hidden_layers": 2})");
  ASSERT_TRUE(part) << to_string(part.error());
  EXPECT_EQ(std::get<ops::Linear>(node_of(*part, "head", "lm_head").op).out, 24578);
  EXPECT_EQ(std::get<ops::Elementwise>(node_of(*part, "head", "logits.scale").op).shape.elements(),
            24578);
}

TEST(TensorParallel, AGroupOfAStateSpaceIsSharedByGpus) {
  // One group of 8192 channels: each GPU normalises 4096 and adds up one sum per token.
  const auto part = halves(R"({"model_type": "bamba", "num_hidden_layers": 2,
                               "attn_layer_indices": [1]})");
  ASSERT_TRUE(part) << to_string(part.error());
  const Node& norm = node_of(*part, "linear_layer", "mamba.norm");
  EXPECT_EQ(std::get<ops::RmsNorm>(norm.op).shape, (Shape{1, 1, 1, 4096}));
  EXPECT_EQ(norm.reduced_output, 1);
}

TEST(TensorParallel, CopiedHeadsAreDealtOutInFront) {
  // OPT copies queries, keys and values to batch x heads x 1 x 64: 12 heads, 6 on each GPU.
  const auto part = halves(R"({"model_type": "opt"})");
  ASSERT_TRUE(part) << to_string(part.error());
  EXPECT_EQ(std::get<ops::Move>(node_of(*part, "layer", "self_attn.k_heads").op).input,
            (Shape{1, 6, 1, 64}));
}

TEST(TensorParallel, HeadsMustDivide) {
  const auto part = execution::split_tensors(model("gpt2", Step::Infer, 1), 8, 1);
  ASSERT_FALSE(part);
  EXPECT_EQ(part.error().message, "12 heads are not divisible by --tp 8");
  EXPECT_EQ(part.error().hint, "choose a divisor of 12");
}

TEST(TensorParallel, ConvolutionsAreNotSplit) {
  const auto part = execution::split_tensors(model("resnet50", Step::Infer, 1), 2, 1);
  ASSERT_FALSE(part);
  EXPECT_EQ(part.error().code, ErrorCode::Unsupported);
}

TEST(TensorParallel, OneWayIsTheGraphItself) {
  const Graph gpt2 = model("gpt2", Step::Train, 1);
  EXPECT_EQ(*execution::split_tensors(gpt2, 1, 1), gpt2);
}

}  // namespace
}  // namespace rooftile::graph
