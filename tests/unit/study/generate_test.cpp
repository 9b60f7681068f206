// SPDX-License-Identifier: Apache-2.0
#include "rooftile/generate.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>

#include "calibration/steps.h"
#include "cost/stack_costs.h"
#include "embedded_session.h"
#include "study/generate.h"
#include "temporary_folder.h"

namespace rooftile {
namespace {

GenerateRequest request_of(const char* model) {
  GenerateRequest request;
  request.step.model = model;
  request.step.gpu = "h100-sxm";
  request.step.dtype = "bf16";
  request.step.stack = "serving";
  request.isl = 512;
  request.osl = 128;
  request.batch = 4;
  return request;
}

GenerateReport run(const GenerateRequest& request) {
  const auto report = testing::embedded_session().generate(request);
  EXPECT_TRUE(report) << to_string(report.error());
  return report.value_or(GenerateReport{});
}

// Hand-made from the steps: request = prefill + 127 mean decode steps; the mean lies between the
// first and the last.
TEST(Generate, ARequestIsItsSteps) {
  const GenerateRequest request = request_of("llama3.1-8b");
  const GenerateReport report = run(request);
  Request step = request.step;
  step.phase = "prefill";
  step.batch = 4;
  step.sequence = 512;
  const auto prefill = testing::embedded_session().predict(step);
  ASSERT_TRUE(prefill);
  EXPECT_DOUBLE_EQ(report.ttft_ms.value, prefill->latency.total_ms);
  EXPECT_NEAR(report.request_ms.value, report.ttft_ms.value + 127 * report.tpot_ms.value, 1e-9);
  EXPECT_NEAR(report.tokens_per_s.value, 4 * 128 / (report.request_ms.value * 1e-3), 1e-6);
  step.phase = "decode";
  step.sequence.reset();
  step.context = 512;
  const auto first = testing::embedded_session().predict(step);
  step.context = 512 + 126;
  const auto last = testing::embedded_session().predict(step);
  ASSERT_TRUE(first && last);
  EXPECT_GE(report.tpot_ms.value, first->latency.total_ms);
  EXPECT_LE(report.tpot_ms.value, last->latency.total_ms);
  EXPECT_LT(report.tpot_ms.low, report.tpot_ms.value);
  EXPECT_GT(report.tpot_ms.high, report.tpot_ms.value);
}

TEST(Generate, TheTimePerTokenGrowsWithContextAndBatch) {
  double before = 0;
  for (const std::int64_t isl : {128, 1024, 8192}) {
    GenerateRequest request = request_of("llama3.1-8b");
    request.isl = isl;
    const double now = run(request).tpot_ms.value;
    EXPECT_GT(now, before) << isl;
    before = now;
  }
  before = 0;
  for (const std::int64_t batch : {1, 8, 64}) {
    GenerateRequest request = request_of("llama3.1-8b");
    request.batch = batch;
    const double now = run(request).tpot_ms.value;
    EXPECT_GT(now, before) << batch;
    before = now;
  }
}

// In flight, prompts ride along with decode steps: 2 requests of 4 tokens are half a prompt per
// step, which takes 10 ms alone and shares 4 with the step; of the other 6, 80 % show.
TEST(Generate, AServerMixesPromptsIn) {
  GenerateRequest request;
  request.osl = 4;
  request.concurrency = 2;
  const Interval step{.value = 5, .low = 4, .high = 6};
  const study::StepTimes times{
      .prefill = {.value = 10, .low = 9, .high = 12}, .decode = {step, step, step}, .shared = 4};
  const study::GenerationTimes server = study::times_of(request, 2, times, 0.8);
  EXPECT_DOUBLE_EQ(server.tpot.value, 5 + 0.5 * 0.8 * 6);
  EXPECT_DOUBLE_EQ(server.tpot.high, 6 + 0.5 * 0.8 * 12 * 0.6);
  EXPECT_DOUBLE_EQ(server.ttft.value, 10 + 2.5);
  request.disaggregated = true;
  EXPECT_DOUBLE_EQ(study::times_of(request, 2, times, 0.8).tpot.value, 5);
}

aggregate::StepEstimate step_of(double linear_ms, double other_ms, double host_ms) {
  const auto kernel = [](const char* name, const char* op, double ms) {
    aggregate::OperatorEstimate made;
    made.kernel.name = name;
    made.kernel.count = 2;
    made.kernel.work.op = op;
    made.estimate.time = Seconds::from_base(ms * 0.5e-3);
    return made;
  };
  aggregate::StepEstimate step;
  step.operators = {kernel("layer/up", "linear", linear_ms), kernel("layer/norm", "ln", other_ms)};
  step.parts.host = Seconds::from_base(host_ms * 1e-3);
  step.total = Seconds::from_base((linear_ms + other_ms + host_ms) * 1e-3);
  return step;
}

// Weights are read once: the shorter of the two products. What the host makes a prompt wait for is
// long enough for the decode step, of which there is no more than all.
TEST(Generate, PromptsAndStepsShareWhatBothRead) {
  EXPECT_DOUBLE_EQ(study::shared_ms(step_of(8, 1, 0), step_of(3, 1, 0)), 3);
  EXPECT_DOUBLE_EQ(study::shared_ms(step_of(2, 1, 0), step_of(3, 1, 0)), 2);
  EXPECT_DOUBLE_EQ(study::shared_ms(step_of(2, 1, 1.5), step_of(3, 1, 0)), 3.5);
  EXPECT_DOUBLE_EQ(study::shared_ms(step_of(2, 1, 50), step_of(3, 1, 0)), 4);
}

// Experts: a short prompt reads those that the decode step reads anyway.
TEST(Generate, AShortPromptIsNearlyFree) {
  GenerateRequest request = request_of("qwen3-30b-a3b");
  request.isl = 128;
  request.batch = 64;
  const GenerateReport fixed = run(request);
  request.concurrency = request.batch;
  request.batch.reset();
  const GenerateReport server = run(request);
  const double prompts = 64.0 / 128 * server.prefill.latency.total_ms;
  EXPECT_GT(server.tpot_ms.value, fixed.tpot_ms.value);
  EXPECT_LT(server.tpot_ms.value, fixed.tpot_ms.value + 0.5 * prompts);
  ASSERT_TRUE(server.decode.throughput.mbu);
  EXPECT_LT(*server.decode.throughput.mbu, 1);  // of the experts that are hit, not of all
}

// The largest batch fits, one more does not.
TEST(Generate, TheLargestBatchIsTheLargest) {
  GenerateRequest request = request_of("llama3.1-8b");
  const GenerateReport report = run(request);
  ASSERT_TRUE(report.largest_batch);
  ASSERT_GT(*report.largest_batch, 4);
  request.concurrency = *report.largest_batch;
  request.batch.reset();
  // Activations of a decode step grow a little with the batch.
  request.concurrency =
      static_cast<std::int64_t>(0.95 * static_cast<double>(*report.largest_batch));
  EXPECT_TRUE(run(request).memory.fits.value_or(false));
  request.concurrency.reset();
  request.batch = *report.largest_batch + 1;
  EXPECT_FALSE(run(request).memory.fits.value_or(true));
}

// More requests than the memory holds: a decode step has those that fit, the others wait, and the
// throughput is that of the running ones.
TEST(Generate, RequestsThatDoNotFitWait) {
  GenerateRequest request = request_of("llama3.1-8b");
  request.isl = 8192;
  request.batch.reset();
  request.concurrency = 32;
  const GenerateReport few = run(request);
  ASSERT_EQ(few.batch, 32);
  request.concurrency = 1000;
  const GenerateReport many = run(request);
  EXPECT_GT(many.batch, 32);
  EXPECT_LT(many.batch, 1000);
  EXPECT_TRUE(many.memory.fits.value_or(false));
  EXPECT_GT(many.ttft_ms.value, 5 * few.ttft_ms.value);
  // Little's law: all requests = rate x time of a request.
  EXPECT_NEAR(many.tokens_per_s.value * many.request_ms.value / 1e3,
              1000.0 * static_cast<double>(request.osl), 1e-3);
  request.concurrency = many.batch;
  const GenerateReport full = run(request);
  EXPECT_NEAR(full.tpot_ms.value, many.tpot_ms.value, 1e-9);
  EXPECT_NEAR(full.tokens_per_s.value / many.tokens_per_s.value, 1.0, 1e-9);
}

TEST(Generate, BothKindsOfBatchAreAMistake) {
  GenerateRequest request = request_of("llama3.1-8b");
  request.concurrency = 4;
  const auto report = testing::embedded_session().generate(request);
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().code, ErrorCode::Usage);
}

constexpr const char* kHeader =
    "case,source,framework,stack,gpu,system,gpus,model,phase,dtype,kv_dtype,weight_dtype,batch,"
    "micro_batch,seq,context,output,tp,pp,vp,dp,cp,ep,zero,sp,recompute,optimizer,measured_ms,"
    "memory_gib,note\n";

TEST(Steps, WhatCannotBeExpressedIsSkippedWithItsReason) {
  const testing::TemporaryFolder folder;
  const std::string file = (folder.path() / "cases.csv").string();
  std::ofstream(file) << kHeader
                      << "a,s,f,serving,h100-sxm,,1,llama3-8b,decode,bf16,,,8,,,1024,,1,1,1,1,1,1,"
                         "0,0,,,8.0,,\n"
                      << "b,s,f,fsdp,h100-sxm,,8,llama3-8b,train,bf16,,,8,1,1024,,,1,1,1,8,1,1,3,0,"
                         "none,adamw,900,40,\n"
                      << "c,s,f,serving,h100-sxm,,1,no-such-model,decode,bf16,,,8,,,1024,,1,1,1,1,"
                         "1,1,0,0,,,8.0,,\n"
                      << "d,s,f,serving,h100-sxm,,1,llama3-8b,serve,bf16,,,8,,512,,256,1,1,1,1,1,1,"
                         "0,0,,,9.0,,\n";
  const auto evaluation = testing::embedded_session().evaluate_steps({.file = file}, {});
  ASSERT_TRUE(evaluation) << to_string(evaluation.error());
  ASSERT_EQ(evaluation->cases.size(), 4U);
  EXPECT_TRUE(evaluation->cases[0].skipped.empty());
  EXPECT_NE(evaluation->cases[1].skipped.find("ZeRO-3"), std::string::npos);
  EXPECT_NE(evaluation->cases[2].skipped.find("no-such-model"), std::string::npos);
  EXPECT_TRUE(evaluation->cases[3].skipped.empty());
  EXPECT_EQ(evaluation->cases[3].row.assumed, "bf16 cache");
  for (const std::size_t i : {0U, 3U}) {
    const auto& one = evaluation->cases[i];
    EXPECT_GT(one.predicted_ms, one.bound_ms);
    EXPECT_LT(one.low_ms, one.high_ms);
    EXPECT_LT(std::abs(one.error()), 1.0) << one.predicted_ms;
  }
  std::int64_t skipped = 0;
  for (const auto& [reason, rows] : evaluation->skipped) skipped += rows;
  EXPECT_EQ(skipped, 2);
}

// A mean request that waits longer for its first token than it runs stands in a queue.
TEST(Steps, QueuesAreSkipped) {
  const testing::TemporaryFolder folder;
  const std::string file = (folder.path() / "cases.csv").string();
  std::string header = kHeader;
  header.replace(header.find("memory_gib"), 10, "ttft_ms,memory_gib");
  const std::string row =
      "f,serving,h100-sxm,,1,llama3-8b,serve,bf16,,,8,,512,,256,1,1,1,1,1,1,0,0,,,9.0,";
  std::ofstream(file) << header << "a,s," << row << "50,,\nb,s," << row << "5000,,\n";
  const auto evaluation = testing::embedded_session().evaluate_steps({.file = file}, {});
  ASSERT_TRUE(evaluation) << to_string(evaluation.error());
  EXPECT_TRUE(evaluation->cases[0].skipped.empty()) << evaluation->cases[0].skipped;
  EXPECT_NE(evaluation->cases[1].skipped.find("queue"), std::string::npos);
}

// 32 sequences of 8256 tokens have 32 x 8256 x 131,072 bytes in the cache, 35 GB, and the weights
// are 16 GB: 15 ms on an H100, where two requests take 5.4 ms.
TEST(Steps, RequestsThatCannotBeReadInTheTimeAreSkipped) {
  const testing::TemporaryFolder folder;
  const std::string file = (folder.path() / "cases.csv").string();
  const std::string rest = ",,8192,,128,1,1,1,1,1,1,0,0,,,";
  const std::string row = "f,serving,h100-sxm,,1,llama3.1-8b,serve,bf16,,,";
  std::ofstream(file) << kHeader << "a,s," << row << 32 << rest << "12.0,,\nb,s," << row << 2
                      << rest << "12.0,,\n";
  const auto evaluation = testing::embedded_session().evaluate_steps({.file = file}, {});
  ASSERT_TRUE(evaluation) << to_string(evaluation.error());
  EXPECT_EQ(evaluation->cases[0].skipped,
            "faster than the requests' weights and caches can be read: fewer run at once than the "
            "row says");
  EXPECT_TRUE(evaluation->cases[1].skipped.empty()) << evaluation->cases[1].skipped;
}

TEST(Steps, AnUnknownPhaseIsAnErrorOfTheFile) {
  const testing::TemporaryFolder folder;
  const std::string file = (folder.path() / "cases.csv").string();
  std::ofstream(file) << kHeader
                      << "a,s,f,serving,h100-sxm,,1,llama3-8b,decoding,bf16,,,8,,,1024,,1,1,1,1,1,"
                         "1,0,0,,,8.0,,\n";
  const auto evaluation = testing::embedded_session().evaluate_steps({.file = file}, {});
  ASSERT_FALSE(evaluation);
  EXPECT_NE(to_string(evaluation.error()).find("decode"), std::string::npos);
}

// An A100 has no FP8 products: its engines read FP8 weights and compute in BF16.
TEST(Formats, WeightsWithoutProductsAreExpanded) {
  Request request;
  request.model = "llama3.1-8b";
  request.gpu = "a100-sxm-80gb";
  request.phase = "decode";
  request.stack = "serving";
  const auto wide = testing::embedded_session().predict(request);
  request.weight_dtype = "fp8";
  const auto narrow = testing::embedded_session().predict(request);
  ASSERT_TRUE(wide) << to_string(wide.error());
  ASSERT_TRUE(narrow) << to_string(narrow.error());
  EXPECT_LT(narrow->latency.total_ms, 0.7 * wide->latency.total_ms);
  EXPECT_TRUE(std::any_of(narrow->warnings.begin(), narrow->warnings.end(), [](const auto& text) {
    return text.find("weight-only") != std::string::npos;
  }));
}

// Files of 2019 have neither type nor class: their name says what they are, or they are refused.
TEST(Formats, OldConfigurationsGoByTheirName) {
  const testing::TemporaryFolder folder;
  const std::string text =
      R"({"hidden_size": 768, "num_hidden_layers": 12, "num_attention_heads": 12,
          "intermediate_size": 3072, "max_position_embeddings": 514, "type_vocab_size": 1,
          "vocab_size": 50265})";
  Request request;
  request.gpu = "a100-sxm-80gb";
  for (const auto& [name, known] : {std::pair("roberta-base.json", true), {"x.json", false}}) {
    request.model = (folder.path() / name).string();
    std::ofstream(request.model) << text;
    const auto report = testing::embedded_session().predict(request);
    EXPECT_EQ(report.has_value(), known) << name;
    if (!report) {
      EXPECT_NE(report.error().hint.find("model_type"), std::string::npos);
    }
  }
}

TEST(StackCosts, AreWrittenAsTheyAreRead) {
  const auto costs = cost::read_stack_costs(Catalog::embedded());
  ASSERT_TRUE(costs) << to_string(costs.error());
  const std::string text = cost::to_json(*costs);
  const auto again = cost::parse_stack_costs(text, "x.json");
  ASSERT_TRUE(again) << to_string(again.error());
  EXPECT_EQ(cost::to_json(*again), text);
  EXPECT_FALSE(cost::parse_stack_costs("{}", "x.json"));
}

}  // namespace
}  // namespace rooftile
