// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "embedded_session.h"
#include "rooftile/scale.h"

namespace rooftile::study {
namespace {

/// On a V100: 80 SMs with 64 lanes and 65536 registers each.
ScaleRequest layer_3x3() {
  ScaleRequest request;
  request.step.gpu = "v100-pcie-32gb";
  request.conv = ops::ConvShape{.n = 8, .c = 64, .h = 28, .w = 28, .k = 64, .r = 3, .s = 3};
  request.conv->pad_h = request.conv->pad_w = 1;
  return request;
}

Error error_of(const ScaleRequest& request) {
  const auto report = testing::embedded_session().scale(request);
  return report ? Error{.where = {}, .message = "accepted", .hint = {}} : report.error();
}

Error error_of_set(const std::string& assignment) {
  ScaleRequest request = layer_3x3();
  request.set = {assignment};
  return error_of(request);
}

TEST(Scale, SetAndOptimizeExcludeEachOther) {
  ScaleRequest request = layer_3x3();
  request.set = {"sms=2"};
  request.optimize = "target=2x";
  EXPECT_EQ(error_of(request).code, ErrorCode::Usage);
}

TEST(Scale, AResourceIsStatedOnce) {
  ScaleRequest request = layer_3x3();
  request.set = {"sms=2", "lanes=2", "sms=3"};
  EXPECT_EQ(error_of(request).code, ErrorCode::Usage);
  EXPECT_EQ(error_of(request).message, "--set states sms twice");
  request.set = {};
  request.cost = {"sms=2", "sms=2"};
  EXPECT_EQ(error_of(request).message, "--cost states sms twice");
}

TEST(Scale, WeightZeroIsFreeAndNegativeRefused) {
  ScaleRequest request = layer_3x3();
  request.set = {"sms=2"};
  request.cost = {"sms=0"};
  const auto report = testing::embedded_session().scale(request);
  ASSERT_TRUE(report);
  EXPECT_EQ(report->steps.front().variants.front().cost, 0);
  request.cost = {"sms=-0.5"};
  EXPECT_EQ(error_of(request).code, ErrorCode::Usage);
}

TEST(Scale, FactorsThatAreNoFactorsAreRefused) {
  for (const char* factor : {"0", "-1", "nan", "inf", "1e-9", "1e9", "1e400", ""}) {
    for (const char* key : {"sms", "lanes", "sm_memory", "shared_bw", "l1_bw", "l2_bw", "l2_size",
                            "dram_bw", "clock"}) {
      const std::string text = std::string(key) + "=" + factor;
      EXPECT_EQ(error_of_set(text).code, ErrorCode::Usage) << text;
    }
  }
}

// 1 / 80 SMs; 1 / 64 lanes; 64 x 64 outputs need 8192 of 65536 registers.
TEST(Scale, MachinesThatCannotRunAreRefused) {
  const Error sms = error_of_set("sms=0.012");
  EXPECT_EQ(sms.code, ErrorCode::BadInput);
  EXPECT_EQ(sms.where, "--set sms=0.012");
  EXPECT_NE(sms.hint.find("sms=0.0125"), std::string::npos) << sms.hint;
  EXPECT_EQ(error_of_set("sms=0.0125").message, "accepted");
  const Error lanes = error_of_set("lanes=0.01");
  EXPECT_EQ(lanes.code, ErrorCode::BadInput);
  EXPECT_NE(lanes.hint.find("lanes=0.01563"), std::string::npos) << lanes.hint;
  const Error memory = error_of_set("sm_memory=0.05");
  EXPECT_EQ(memory.code, ErrorCode::BadInput);
  EXPECT_NE(memory.message.find("3277 registers"), std::string::npos) << memory.message;
  EXPECT_NE(memory.hint.find("sm_memory=0.125"), std::string::npos) << memory.hint;
  EXPECT_EQ(error_of_set("sm_memory=0.125").message, "accepted");
}

// A study says where it is, between 0 and 1 and never backwards, and stops when asked to.
TEST(Scale, ReportsProgressAndStops) {
  ScaleRequest request = layer_3x3();
  request.study = true;
  std::vector<double> fractions;
  const auto listen = [&](const ProgressState& state) {
    fractions.push_back(state.fraction);
    return true;
  };
  ASSERT_TRUE(testing::embedded_session().scale(request, listen));
  ASSERT_GE(fractions.size(), 2U);
  EXPECT_TRUE(std::is_sorted(fractions.begin(), fractions.end()));
  EXPECT_EQ(fractions.back(), 1);
  const auto stopped =
      testing::embedded_session().scale(request, [](const auto&) { return false; });
  ASSERT_FALSE(stopped);
  EXPECT_NE(stopped.error().message.find("stopped"), std::string::npos);
}

}  // namespace
}  // namespace rooftile::study
