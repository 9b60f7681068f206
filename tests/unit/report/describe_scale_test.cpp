// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>

#include "written.h"

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
  const ScaleReport report{.gpu_name = "chip", .steps = {step}, .warnings = {}};
  const std::string csv = written("csv", report);
  EXPECT_EQ(csv.substr(0, 5), "kind,");
  EXPECT_NE(csv.find("\nlayer,\"net, batch 1\",dram_bw x2,1,"), std::string::npos) << csv;
  EXPECT_NE(csv.find("winograd_fused"), std::string::npos) << csv;
  EXPECT_NE(csv.find("\noptimum,\"net, batch 1\",,"), std::string::npos) << csv;
  EXPECT_NE(csv.find(",20,false"), std::string::npos) << csv;
  EXPECT_NE(csv.find("sms,4"), std::string::npos) << csv;
  EXPECT_NE(csv.find("conv,"), std::string::npos) << csv;
  EXPECT_NE(csv.find("lanes,8"), std::string::npos) << csv;
  const auto columns = [](std::string_view line) {
    return std::count(line.begin(), line.end(), ',');
  };
  const auto first = columns(csv.substr(0, csv.find('\n')));
  EXPECT_GT(first, 20);
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
  EXPECT_NE(written("text", report, 140).find("lanes x2: 1.50x"), std::string::npos);
  EXPECT_NE(written("json", report).find("\"speedup_at_2x\": 1.2"), std::string::npos);
  report.steps.front().layers.front().balance = {
      {.resource = "sms", .factor = 1, .speedup = 1, .speedup_at_2x = 1.04}};
  EXPECT_EQ(written("text", report, 140).find("sms x2"), std::string::npos);
}

}  // namespace
}  // namespace rooftile::report
