// SPDX-License-Identifier: Apache-2.0
//
// Evaluations, fits and measurements through the library's door: typed results, progress, stops.
#include "rooftile/evaluate.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "core/file.h"
#include "rooftile/rooftile.h"
#include "source_folder.h"
#include "temporary_folder.h"

namespace rooftile {
namespace {

/// Sixty products per GPU by a law of their own: 30 us + FLOPs / 5 TFLOP/s (T4) or 10 TFLOP/s (V100).
std::string products(const std::vector<std::string>& gpus) {
  std::string text = "op,device,set,latency_ms,b,m,n,k,kernel\n";
  for (std::size_t gpu = 0; gpu < gpus.size(); ++gpu) {
    for (const int m : {128, 384, 512, 768, 1152}) {
      for (const int n : {256, 512, 1024, 2048}) {
        for (const int k : {128, 512, 896}) {
          const double flops = 2.0 * m * n * k;
          const double ms = 0.03 + flops / (gpu == 0 ? 5e9 : 10e9);
          text += fmt::format("linear,{},train,{},1,{},{},{},volta_sgemm_128x64_nn\n", gpus[gpu],
                              ms, m, n, k);
        }
      }
    }
  }
  return text;
}

struct StudyFiles : ::testing::Test {
  testing::TemporaryFolder folder;
  Session session;
  std::string both = folder.write("linear.csv", products({"Tesla T4", "Tesla V100-PCIE-32GB"}));
  std::string single = folder.write("single.csv", products({"Tesla T4"}));
};

TEST_F(StudyFiles, KernelsGiveCasesAndTheBlockOfErrors) {
  const auto report = session.evaluate({.files = {both}});
  ASSERT_TRUE(report) << report.failure().message;
  EXPECT_EQ(report->times.size(), 120U);
  const EvaluatedTime& first = report->times.front();
  EXPECT_EQ(first.device, "Tesla T4");
  EXPECT_EQ(first.kind, "linear");
  EXPECT_EQ(first.campaign, "train");
  EXPECT_NEAR(first.measured_ms, 0.03 + 2.0 * 128 * 256 * 128 / 5e9, 1e-9);
  EXPECT_NEAR(first.error, first.predicted_ms / first.measured_ms - 1, 1e-12);
  EXPECT_GE(first.predicted_ms, first.bound_ms);
  ASSERT_FALSE(report->summary.empty());
  const ErrorSummary& all = report->summary.front();
  EXPECT_EQ(all.group, "linear");
  EXPECT_EQ(all.cases, 120);
  double sum = 0;
  double signed_sum = 0;
  for (const EvaluatedTime& one : report->times) {
    sum += std::abs(one.error) / 120;
    signed_sum += one.error / 120;
  }
  EXPECT_NEAR(all.mean_error, sum, 1e-9);
  EXPECT_NEAR(all.bias, signed_sum, 1e-9);
  EXPECT_TRUE(all.coverage);
  for (const char* baseline : {"bound", "roofline", "trivial", "neusight"})
    EXPECT_TRUE(all.baseline(baseline)) << baseline;
  EXPECT_FALSE(all.baseline("published neusight"));
}

TEST_F(StudyFiles, LabelsAreTheSameBlock) {
  const std::string golden = testing::source_folder() / "tests/golden/evaluate/";
  const auto report = session.evaluate(
      {.subject = "labels", .files = {golden + "labels.csv"}, .models = golden + "models"});
  ASSERT_TRUE(report) << report.failure().message;
  ASSERT_FALSE(report->times.empty());
  ASSERT_FALSE(report->summary.empty());
  EXPECT_EQ(report->summary.front().group, "all");
  EXPECT_EQ(report->summary.front().cases, static_cast<std::int64_t>(report->times.size()));
  EXPECT_TRUE(report->summary.front().baseline("published neusight"));
}

TEST_F(StudyFiles, RandomLayersGiveBytesPerLevel) {
  const auto report =
      session.evaluate({.subject = "traffic", .files = {"random"}, .count = 2, .seed = 3});
  ASSERT_TRUE(report) << report.failure().message;
  EXPECT_EQ(report->bytes.size(), 2U * 2 * 3);  // layers x {exact, closed} x levels
  for (const EvaluatedBytes& one : report->bytes) {
    EXPECT_GT(one.measured_bytes, 0);
    EXPECT_NEAR(one.error, one.predicted_bytes / one.measured_bytes - 1, 1e-12);
  }
  EXPECT_FALSE(report->summary.empty());
}

TEST_F(StudyFiles, AProgressThatSaysNoStopsARefit) {
  const auto stopped = session.evaluate({.files = {both}, .leave_one_gpu_out = true},
                                        [](const ProgressState&) { return false; });
  ASSERT_FALSE(stopped);
  EXPECT_NE(stopped.failure().message.find("stopped"), std::string::npos)
      << stopped.failure().message;
}

TEST_F(StudyFiles, WhatCannotBeEvaluatedIsNamed) {
  const auto word = session.evaluate({.subject = "dreams", .files = {both}});
  ASSERT_FALSE(word);
  EXPECT_EQ(word.failure().code, 2);
  EXPECT_EQ(session.evaluate({.files = {}}).failure().code, 2);
  EXPECT_EQ(session.evaluate({.subject = "labels", .files = {both, both}}).failure().code, 2);
  const auto alone = session.evaluate({.files = {single}, .leave_one_gpu_out = true});
  ASSERT_FALSE(alone);
  EXPECT_EQ(alone.failure().code, 1);
}

TEST_F(StudyFiles, AFitIsAPredictorAndSaysItsDoubtsFirst) {
  std::vector<std::string> notices;
  const auto fitted = session.fit({.files = {single}}, [&](const ProgressState& state) {
    if (!state.notice.empty()) notices.push_back(state.notice);
    return true;
  });
  ASSERT_TRUE(fitted) << fitted.failure().message;
  ASSERT_FALSE(notices.empty());
  EXPECT_NE(notices.back().find("fitted on a single GPU"), std::string::npos);
  EXPECT_TRUE(fitted->left_out.times.empty());
  folder.write("mine/weights.json", fitted->weights);
  folder.write("mine/card.json", fitted->card);
  const auto report = session.evaluate({.files = {single}, .predictor = folder.file("mine")});
  ASSERT_TRUE(report) << report.failure().message;
  EXPECT_LT(report->summary.front().mean_error, 0.3);
  EXPECT_EQ(session.fit({.files = {single}, .form = "fancy"}).failure().code, 2);
}

TEST_F(StudyFiles, AnInspectionFitsNothing) {
  const auto report = session.inspect({.files = {both}});
  ASSERT_TRUE(report) << report.failure().message;
  ASSERT_EQ(report->groups.size(), 2U);
  EXPECT_EQ(report->groups.front().rows, 60);
  EXPECT_GT(report->groups.front().longest_ms, report->groups.front().shortest_ms);
}

TEST_F(StudyFiles, TheProcessorIsMeasured) {
  CharacterizeRequest request;
  request.effort = "quick";
  request.threads = 1;
  request.patterns = {"load"};
  request.max_working_set = "64 KiB";
  std::string announced;
  const auto report = session.characterize(request, [&](const ProgressState& state) {
    if (!state.notice.empty()) announced = state.notice;
    return true;
  });
  ASSERT_TRUE(report) << report.failure().message;
  EXPECT_NE(announced.find("measurements, about"), std::string::npos) << announced;
  ASSERT_FALSE(report->ceilings.empty());
  EXPECT_GT(report->ceilings.front().per_second, 1e8);
  ASSERT_FALSE(report->samples.empty());
  EXPECT_EQ(report->samples.front().pattern, "load");
  EXPECT_NE(report->machine.find("\"bandwidth\""), std::string::npos);
  request.effort = "heroic";
  EXPECT_EQ(session.characterize(request).failure().code, 2);
}

}  // namespace
}  // namespace rooftile
