// SPDX-License-Identifier: Apache-2.0
#include "report/scale_view.h"

#include <gtest/gtest.h>

namespace rooftile::report {
namespace {

TEST(ScaleView, CsvHasLayersAndBalance) {
  ScaleStep step;
  step.name = "net, batch 1";
  step.variants.push_back({});
  step.variants.front().factors = {{"dram_bw", 2}};
  step.balance = {{.resource = "sms", .factor = 4, .speedup = 1.5, .speedup_at_2x = 1.2}};
  step.layers = {
      {.name = "conv",
       .shape = "1x1",
       .count = 3,
       .base_ms = 2,
       .time_ms = 1,
       .base_limiter = "dram",
       .limiter = "compute",
       .base_algorithm = "fft",
       .algorithm = "winograd_fused",
       .balance = {{.resource = "lanes", .factor = 8, .speedup = 3, .speedup_at_2x = 1.5}}}};
  step.balanced.emplace_back(20, std::nullopt);
  const std::string csv = scale_to_csv({.gpu_name = "chip", .steps = {step}, .warnings = {}});
  EXPECT_NE(csv.find("\"net, batch 1\",,dram_bw "
                     "x2,1,2,,compute,layer,conv,2,dram,1x1,3,fft,winograd_fused,,,,,,\n"),
            std::string::npos)
      << csv;
  EXPECT_NE(csv.find("\"net, batch 1\",20,,,,,,unreached,,,,,,,,,,,,,\n"), std::string::npos)
      << csv;
  EXPECT_NE(csv.find("\"net, batch 1\",,sms x4,,1.5,,,balance,,,,,,,,,,,,,\n"), std::string::npos)
      << csv;
  EXPECT_NE(csv.find("\"net, batch 1\",,lanes x8,,3,,,balance,conv,,,,,,,,,,,,\n"),
            std::string::npos)
      << csv;
}

// sms gain more in the end (4x), but lanes more from twice as much.
TEST(ScaleView, GainsMostComparesDoubledResources) {
  ScaleStep step;
  step.variants.push_back({});
  step.layers.emplace_back();
  step.layers.front().base_ms = step.layers.front().time_ms = 1;
  step.layers.front().balance = {
      {.resource = "sms", .factor = 16, .speedup = 4, .speedup_at_2x = 1.2},
      {.resource = "lanes", .factor = 2, .speedup = 1.5, .speedup_at_2x = 1.5}};
  ScaleReport report{.gpu_name = "chip", .steps = {step}, .warnings = {}};
  const TextOptions wide{.color = false, .width = 140};
  EXPECT_NE(scale_to_text(report, wide).find("lanes x2: 1.50x"), std::string::npos);
  EXPECT_NE(scale_to_json(report).find("\"speedup_at_2x\": 1.2"), std::string::npos);
  report.steps.front().layers.front().balance = {
      {.resource = "sms", .factor = 1, .speedup = 1, .speedup_at_2x = 1.04}};
  EXPECT_EQ(scale_to_text(report, wide).find("sms x2"), std::string::npos);
}

}  // namespace
}  // namespace rooftile::report
