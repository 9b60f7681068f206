// SPDX-License-Identifier: Apache-2.0
//
// The built-in models against their published parameter counts (the sizes of the released weights,
// tied tensors once), and every one of them in every step it has.
#include <gtest/gtest.h>

#include <set>

#include "execution/launches.h"
#include "graph/import_model.h"

namespace rooftile::graph {
namespace {

struct Published {
  const char* name;
  std::int64_t parameters;
};

constexpr Published kPublished[] = {
    {"gpt2", 124'439'808},
    {"gpt2-medium", 354'823'168},
    {"gpt2-large", 774'030'080},
    {"gpt2-xl", 1'557'611'200},
    {"opt-125m", 125'239'296},
    {"opt-350m", 331'196'416},
    {"opt-1.3b", 1'315'758'080},
    {"opt-2.7b", 2'651'596'800},
    {"opt-6.7b", 6'658'473'984},
    {"opt-13b", 12'853'473'280},
    {"opt-30b", 29'974'540'288},
    {"t5-small", 60'506'624},
    {"t5-base", 222'903'552},
    {"t5-large", 737'668'096},
    {"llama2-7b", 6'738'415'616},
    {"llama2-13b", 13'015'864'320},
    {"llama2-70b", 68'976'648'192},
    {"llama3-8b", 8'030'261'248},
    {"llama3-70b", 70'553'706'496},
    {"llama3.1-405b", 405'853'388'800},
    {"llama3.2-1b", 1'235'814'400},
    {"llama3.2-3b", 3'212'749'824},
    {"qwen2-0.5b", 494'032'768},
    {"qwen2-1.5b", 1'543'714'304},
    {"qwen2-7b", 7'615'616'512},
    {"qwen2-72b", 72'706'203'648},
    {"qwen3-0.6b", 596'049'920},
    {"qwen3-1.7b", 1'720'574'976},
    {"qwen3-4b", 4'022'468'096},
    {"qwen3-8b", 8'190'735'360},
    {"qwen3-14b", 14'768'307'200},
    {"qwen3-32b", 32'762'123'264},
    {"mistral-7b", 7'241'732'096},
    {"mixtral-8x7b", 46'702'792'704},
    {"gemma-2b", 2'506'172'416},
    {"gemma-7b", 8'537'680'896},
    {"llama3.1-8b", 8'030'261'248},
    {"llama3.1-70b", 70'553'706'496},
    {"qwen2.5-3b", 3'085'938'688},
    {"qwen2.5-14b", 14'770'033'664},
    {"qwen2.5-32b", 32'763'876'352},
    {"vit-b-16", 86'567'656},
    {"vit-l-16", 304'326'632},
    {"qwen3-30b-a3b", 30'532'122'624},
    {"qwen3-235b-a22b", 235'093'634'560},
    {"gemma3-4b", 4'300'079'472},
    {"gemma3-1b", 999'885'952},
    {"gemma3-12b", 12'187'325'040},
    {"gemma3-27b", 27'432'406'640},
    {"gemma2-9b", 9'241'705'984},
    {"gemma2-27b", 27'227'128'320},
    {"gpt-oss-20b", 20'914'757'184},
    {"gpt-oss-120b", 116'829'156'672},
    {"phi-4", 14'659'507'200},
    {"phi-2", 2'779'683'840},
    {"mixtral-8x22b", 140'620'634'112},
    {"gpt-j-6b", 6'050'882'784},
    {"bloom-7b1", 7'069'016'064},
    {"falcon-7b", 6'921'720'704},
    {"whisper-large-v3", 1'543'490'560},
    {"swin-t", 28'288'354},
    {"convnext-t", 28'589'128},
    {"deepseek-v2-lite", 15'706'484'224},
    // 671,026,419,200 with a correction of the routing per expert and layer, 58 * 256.
    {"deepseek-v3", 671'026'419'200 - 58 * 256},
};

TEST(BuiltinModels, HaveThePublishedParameterCounts) {
  const Catalog catalog = Catalog::embedded();
  for (const Published& published : kPublished) {
    const auto graph = import_model(catalog, published.name, {});
    ASSERT_TRUE(graph.has_value()) << to_string(graph.error());
    // Parts that this step does not run (an image encoder) are of the model, too.
    EXPECT_EQ(graph->parameters + graph->idle_parameters, published.parameters) << published.name;
  }
}

// BERT's released weights are those of pre-training: 109,482,240 in the encoder with its pooler
// (bert-base), and in the heads 768^2 + 768 (transform), 2 * 768 (norm), 30522 (bias of the tied
// decoder) and 2 * 768 + 2 (next sentence): 110,106,428.
TEST(BuiltinModels, BertCountsItsHeads) {
  const Catalog catalog = Catalog::embedded();
  const auto train = import_model(catalog, "bert-base", {.step = Step::Train});
  const auto infer = import_model(catalog, "bert-base", {.step = Step::Infer});
  ASSERT_TRUE(train.has_value() && infer.has_value());
  EXPECT_EQ(train->parameters, 110'106'428);
  EXPECT_EQ(infer->parameters, 109'482'240 + 2 * 768 + 2);
  // bert-large: 335,141,888 + 1024^2 + 1024 + 2 * 1024 + 30522 + 2 * 1024 + 2.
  const auto large = import_model(catalog, "bert-large", {.step = Step::Train});
  ASSERT_TRUE(large.has_value());
  EXPECT_EQ(large->parameters, 336'226'108);
}

// No weights were released: the paper rounds its counts (Brown et al. 2020, table 2.1), and its 13B
// has a width of 5140 where heads of 128 give 5120. Switch base is published as 620 million.
TEST(BuiltinModels, AreNearTheRoundedCountsOfTheirPapers) {
  const Catalog catalog = Catalog::embedded();
  for (const auto& [name, billions] :
       {std::pair{"gpt3-125m", 0.125}, std::pair{"gpt3-350m", 0.35}, std::pair{"gpt3-760m", 0.76},
        std::pair{"opt-66b", 66.0}, std::pair{"gpt3-1.3b", 1.3}, std::pair{"gpt3-2.7b", 2.7},
        std::pair{"gpt3-6.7b", 6.7}, std::pair{"gpt3-13b", 13.0}, std::pair{"gpt3-175b", 175.0},
        std::pair{"switch-base-8", 0.62}}) {
    const auto graph = import_model(catalog, name, {});
    ASSERT_TRUE(graph.has_value()) << to_string(graph.error());
    EXPECT_NEAR(static_cast<double>(graph->parameters) / (billions * 1e9), 1.0, 0.03) << name;
  }
}

TEST(BuiltinModels, NamesInMeasuredDataAreKnown) {
  const Catalog catalog = Catalog::embedded();
  for (const char* name : {"gpt2_large", "gpt3_27", "gpt3_xl", "opt_13", "bert_large", "switchxl4",
                           "gpt2_med", "gpt2_xl", "gpt3_13", "gpt3_67", "bert"}) {
    EXPECT_TRUE(import_model(catalog, name, {}).has_value()) << name;
  }
}

TEST(BuiltinModels, AreListedOnceWithFamilyAndParameters) {
  const auto models = list_models(Catalog::embedded());
  ASSERT_TRUE(models.has_value()) << to_string(models.error());
  EXPECT_GE(models->size(), 50U);
  std::set<std::string> names;
  for (const ModelSummary& model : *models) {
    EXPECT_GT(model.parameters, 0) << model.name;
    EXPECT_FALSE(model.family.empty()) << model.name;
    EXPECT_TRUE(names.insert(model.name).second) << model.name;
    for (const std::string& alias : model.aliases) {
      EXPECT_TRUE(names.insert(alias).second) << alias << " is taken twice";
    }
  }
}

// Every model, step and kind of attention lowers to kernels with positive work.
TEST(BuiltinModels, LowerInEveryStep) {
  const Catalog catalog = Catalog::embedded();
  const auto models = list_models(catalog);
  ASSERT_TRUE(models.has_value());
  for (const ModelSummary& model : *models) {
    for (const Step step : {Step::Infer, Step::Train, Step::Prefill, Step::Decode}) {
      for (const AttentionKind attention : {AttentionKind::Eager, AttentionKind::Flash}) {
        ImportOptions options;
        options.step = step;
        options.batch = 2;
        options.sequence = 128;
        options.context = 128;
        options.dtype = DType::Bf16;
        options.attention = attention;
        const auto graph = import_model(catalog, model.name, options);
        if (!graph.has_value()) {  // encoders have no cache
          EXPECT_EQ(graph.error().code, ErrorCode::Unsupported) << to_string(graph.error());
          EXPECT_TRUE(step == Step::Prefill || step == Step::Decode);
          continue;
        }
        const auto kernels = execution::launches(*graph, execution::default_launch_options(*graph));
        EXPECT_GT(kernels.size(), 10U);
        for (const execution::Launch& kernel : kernels) {
          EXPECT_GT(kernel.work.bytes().base(), 0.0) << model.name << " " << kernel.name;
          EXPECT_GE(kernel.work.flops.base(), 0.0) << model.name << " " << kernel.name;
          EXPECT_GE(kernel.count, 1);
        }
      }
    }
  }
}

}  // namespace
}  // namespace rooftile::graph
