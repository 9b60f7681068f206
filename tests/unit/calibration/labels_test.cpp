// SPDX-License-Identifier: Apache-2.0
#include "calibration/labels.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "default_constants.h"
#include "embedded_session.h"
#include "source_folder.h"
#include "temporary_folder.h"

namespace rooftile::calibration {
namespace {

const std::string kFolder = testing::source_folder() / "tests/golden/evaluate/";

/// Everything takes three times its bound, give or take nothing.
class ThreeTimesTheBound : public cost::Predictor {
 public:
  ThreeTimesTheBound() { set_constants(testing::default_constants()); }

 private:
  [[nodiscard]] cost::Estimate do_estimate(const cost::Job& job, const hardware::Machine& machine,
                                           cost::MachineFacts& /*facts*/) const override {
    const auto bound = *cost::make_predictor("bound", Catalog::embedded());
    cost::Estimate estimate = bound->estimate(job, machine);
    estimate.time = estimate.low = estimate.high = estimate.bound * 3.0;
    estimate.provenance = cost::Provenance::Analytical;
    return estimate;
  }
  [[nodiscard]] std::string_view do_name() const override { return "three"; }
};

LabelEvaluation evaluated() {
  const ThreeTimesTheBound predictor;
  const auto result = evaluate_labels(
      kFolder + "labels.csv", kFolder + "models", Catalog::embedded(),
      [&](const hardware::GpuSpec&) {
        return LabelPredictors{.main = &predictor, .trivial = &predictor};
      },
      [](const Request& request, const cost::Predictor& one) {
        return testing::embedded_session().predict(request, one);
      },
      {});
  EXPECT_TRUE(result.has_value()) << (result ? "" : result.error().message);
  return result.value_or(LabelEvaluation{});
}

const ErrorSummary& group(const LabelEvaluation& evaluation, const std::string& name) {
  const auto it = std::find_if(evaluation.summary.begin(), evaluation.summary.end(),
                               [&](const auto& s) { return s.group == name; });
  EXPECT_NE(it, evaluation.summary.end()) << name;
  return it != evaluation.summary.end() ? *it : evaluation.summary.front();
}

TEST(Labels, RowsBecomeCases) {
  const auto evaluation = evaluated();
  ASSERT_EQ(evaluation.cases.size(), 9);  // of 10 rows one has an option without a model
  EXPECT_EQ(evaluation.skipped.at("quantized"), 1);
  EXPECT_EQ(evaluation.unread_columns, std::vector<std::string>{"comment"});
  EXPECT_EQ(evaluation.predictor, "three");
  EXPECT_EQ(evaluation.cases[4].name, "tiny_gpt-inf-512-4-fusion");
  EXPECT_EQ(evaluation.cases[4].device, "Tesla V100-PCIE-32GB");
  EXPECT_EQ(evaluation.cases[3].mode, "train");
  // Training runs the forward pass and more; a compiled pass is no slower than an eager one.
  EXPECT_GT(evaluation.cases[3].predicted_ms, 2.5 * evaluation.cases[4].predicted_ms);
}

TEST(Labels, OptionsShareTheStepAmongGpus) {
  const auto evaluation = evaluated();
  const double dp4 = evaluation.cases[6].predicted_ms;
  const double tp4 = evaluation.cases[7].predicted_ms;
  const double pp2 = evaluation.cases[8].predicted_ms;
  // Four GPUs share the work; norms and the residual stream are repeated with tp. Two stages and
  // four pieces: (2 + 3) / (2 x 4) of the step of one GPU at best, more than a quarter.
  EXPECT_GT(tp4, dp4);
  EXPECT_GT(pp2, tp4);
}

TEST(Labels, GroupsCoverTheCases) {
  const auto evaluation = evaluated();
  EXPECT_EQ(group(evaluation, "all").cases, 9);
  EXPECT_EQ(group(evaluation, "device/Tesla T4").cases, 2);
  EXPECT_EQ(group(evaluation, "device/Tesla V100-PCIE-32GB/train").cases, 1);
  EXPECT_EQ(group(evaluation, "model/tiny_gpt").cases, 7);
  EXPECT_EQ(group(evaluation, "option/plain").cases, 5);
  EXPECT_EQ(group(evaluation, "option/fusion").cases, 1);
  EXPECT_EQ(group(evaluation, "option/pp2_4").cases, 1);
  const auto& train = group(evaluation, "device/Tesla V100-PCIE-32GB/train");
  EXPECT_NEAR(train.mean_error, std::fabs(evaluation.cases[3].error()), 1e-12);
  EXPECT_NEAR(train.bias, evaluation.cases[3].error(), 1e-12);
  EXPECT_NEAR(train.baseline("bound").value(), std::fabs(evaluation.cases[3].bound_ms / 118 - 1),
              1e-12);
  EXPECT_FALSE(train.coverage);  // no interval is stated
  EXPECT_NEAR(train.baseline("trivial").value(), train.mean_error, 1e-12);
  EXPECT_FALSE(train.baseline("neusight"));
}

TEST(Labels, PublishedColumnsCountOnTheirOwnRows) {
  const auto evaluation = evaluated();
  const auto& all = group(evaluation, "all");
  // |30.1/32.5-1| + |80.9/88.4-1| + |11.5/12.1-1| + |109/118-1| + |30.2/26.5-1|
  // + |58.9/52.5-1| over 6 rows.
  const double sum = 2.4 / 32.5 + 7.5 / 88.4 + 0.6 / 12.1 + 9.0 / 118 + 3.7 / 26.5 + 6.4 / 52.5;
  EXPECT_EQ(all.baselines.at("published neusight").cases, 6);
  EXPECT_NEAR(all.baseline("published neusight").value(), sum / 6, 1e-9);
  EXPECT_EQ(all.baselines.at("published other").cases, 2);
  EXPECT_NEAR(all.baseline("published other").value(), (2.1 / 12.1 + 3.5 / 29.6) / 2, 1e-9);
}

class LabelFiles : public ::testing::Test {
 protected:
  /// Rows below a header with the least columns.
  Result<LabelEvaluation> read(const std::string& rows) const {
    const testing::TemporaryFolder folder;
    const ThreeTimesTheBound predictor;
    return evaluate_labels(
        folder.write("labels.csv",
                     "device,model_name,mode,seqlen,batch,option,measured_ms\n" + rows),
        kFolder + "models", Catalog::embedded(),
        [&](const hardware::GpuSpec&) { return LabelPredictors{.main = &predictor}; },
        [](const Request& request, const cost::Predictor& one) {
          return testing::embedded_session().predict(request, one);
        },
        {});
  }
  /// The error of input that the rows must give.
  std::string refused(const std::string& rows) const {
    const auto result = read(rows);
    EXPECT_FALSE(result) << rows;
    if (result) return {};
    EXPECT_EQ(result.error().code, ErrorCode::BadInput) << rows;
    return to_string(result.error());
  }
};

TEST_F(LabelFiles, WhatIsWrongWithARowIsWrongWithTheFile) {
  EXPECT_NE(refused("Tesla T4,tiny_gpt,inf,512,0,,9\n").find(":2:5: batch is 0"),
            std::string::npos);
  EXPECT_NE(refused("Tesla T4,tiny_gpt,inf,0,4,,9\n").find(":2:4: seqlen is 0"), std::string::npos);
  EXPECT_NE(refused("Tesla T4,tiny_gpt,train,512,8,dp3,9\n").find("not divisible"),
            std::string::npos);
  EXPECT_NE(refused("Tesla T4000,tiny_gpt,inf,512,4,,9\n").find(":2:1: unknown GPU"),
            std::string::npos);
}

TEST_F(LabelFiles, WithoutARowToPredictAreRefused) {
  EXPECT_NE(refused("").find("no measured steps"), std::string::npos);
  EXPECT_NE(refused("Tesla T4,tiny_gpt,inf,512,4,quantized,9\n").find("only quantized"),
            std::string::npos);
}

TEST_F(LabelFiles, FusionIsComparedWithTheSameStepWithoutIt) {
  const auto evaluation = read(
      "Tesla T4,tiny_gpt,inf,512,4,,30\n"
      "Tesla T4,tiny_gpt,inf,512,4,fusion,20\n"
      "Tesla T4,tiny_gpt,inf,512,8,fusion,40\n");
  ASSERT_TRUE(evaluation) << to_string(evaluation.error());
  ASSERT_EQ(evaluation->fusion.size(), 1U);  // the plain row with batch 8 is missing
  EXPECT_EQ(evaluation->fusion[0].name, "tiny_gpt-inf-512-4");
  EXPECT_DOUBLE_EQ(evaluation->fusion[0].measured, 1.5);
  EXPECT_DOUBLE_EQ(evaluation->fusion[0].predicted,
                   evaluation->cases[0].predicted_ms / evaluation->cases[1].predicted_ms);
}

}  // namespace
}  // namespace rooftile::calibration
