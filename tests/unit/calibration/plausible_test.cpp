// SPDX-License-Identifier: Apache-2.0
//
// Times against the bound that applies to them, file by file.
#include "calibration/plausible.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cost/predictor.h"
#include "ops/any_op.h"

namespace rooftile::calibration {
namespace {

using ::testing::HasSubstr;

std::vector<TimedRow> rows(int count, int below, double ratio) {
  std::vector<TimedRow> rows;
  for (int i = 0; i < count; ++i) {
    rows.push_back({.measured = i < below ? ratio : 2.0,
                    .bound = 1.0,
                    .line = static_cast<std::uint32_t>(i + 2)});
  }
  return rows;
}

TEST(Times, OnePerCentOfTheRowsMayLieBelow) {
  EXPECT_FALSE(check_times("x.csv", rows(1000, 10, 0.5)).refused());
  EXPECT_TRUE(check_times("x.csv", rows(1000, 11, 0.5)).refused());
  EXPECT_FALSE(check_times("x.csv", rows(1000, 1000, 0.96)).refused());  // within 5 %
  EXPECT_TRUE(check_times("x.csv", rows(1000, 1000, 0.94)).refused());
}

TEST(Times, TheFactorSuggestsTheMistake) {
  const TimeCheck seconds = check_times("x.csv", rows(100, 100, 0.002));
  EXPECT_EQ(seconds.warning().value_or(""),
            "times: x.csv: 100 of 100 rows (100 %) are more than 5 % faster than the hardware "
            "allows, by a factor of 500 (median; the first is line 2): about 1000x: are these "
            "seconds? Times are milliseconds");
  EXPECT_THAT(check_times("x.csv", rows(100, 100, 5e-6)).advice(), HasSubstr("1000000x"));
  EXPECT_THAT(check_times("x.csv", rows(100, 100, 0.4)).advice(), HasSubstr("another GPU?"));
}

TEST(Times, ATypicalRowDoesNotTakeHundredsOfTimesItsBound) {
  const TimeCheck slow = check_times("x.csv", rows(100, 60, 1800.0));
  EXPECT_FALSE(slow.refused());
  EXPECT_EQ(slow.warning().value_or(""),
            "times: x.csv: the median of 100 rows takes 1.8e+03 times what the hardware allows: "
            "are these microseconds? Times are milliseconds");
  EXPECT_FALSE(check_times("x.csv", rows(100, 40, 1800.0)).warning());
}

/// One row of `op` on the GPU.
Dataset dataset_of(const ops::AnyOp& op, const char* gpu, const char* campaign, DType dtype) {
  Dataset dataset;
  dataset.files = {"x.csv"};
  dataset.campaigns = {campaign};
  auto machine = hardware::load_machine(Catalog::embedded(), gpu, std::nullopt);
  EXPECT_TRUE(machine) << to_string(machine.error());
  dataset.machines.push_back(*std::move(machine));
  ops::KernelList works;
  ops::forward(op, {.precision = ops::precision_of(dtype)}, works);
  Sample sample;
  sample.work = works.front();
  sample.measured = 1;
  dataset.samples.push_back(sample);
  return dataset;
}

// 8192 x 8192 weights of 2 bytes are 134 MB: 66 us from the 2039 GB/s of DRAM, and with a warm L2
// 8192 x 8192 x 2 FLOP at 312 TFLOP/s are 0.4 us, so only the launch (or L2) is left.
TEST(Bounds, WarmRowsOweTheDramNothing) {
  const ops::Linear linear{.rows = 1, .in = 8192, .out = 8192, .bias = false};
  const Dataset cold = dataset_of(linear, "a100-sxm-80gb", "cold", DType::Bf16);
  const Dataset warm = dataset_of(linear, "a100-sxm-80gb", "warm", DType::Bf16);
  // Up to 40 MB may be in the L2 of a cold row.
  EXPECT_NEAR(bound_of(cold, cold.samples[0]), (134.2e6 - 41.9e6) / 2039e9, 2e-6);
  EXPECT_LT(bound_of(warm, warm.samples[0]), bound_of(cold, cold.samples[0]));
}

// Winograd's F(4x4, 3x3) multiplies 36 instead of 144 times.
TEST(Bounds, ConvolutionsOweTheFastestAlgorithm) {
  const ops::Conv2d conv{
      .conv = {
          .n = 32, .c = 256, .h = 56, .w = 56, .k = 256, .r = 3, .s = 3, .pad_h = 1, .pad_w = 1}};
  const Dataset data = dataset_of(conv, "v100-pcie-32gb", "", DType::Fp32);
  const double direct = 2.0 * 32 * 256 * 56 * 56 * 256 * 9;
  const double rate = data.machines[0].best_rate(DType::Fp32, true)->base();
  EXPECT_NEAR(bound_of(data, data.samples[0]), direct / 4 / rate, 0.01 * direct / 4 / rate);
}

TEST(Bounds, AFileOfSecondsCannotBeFitted) {
  Dataset data = dataset_of(ops::Linear{.rows = 4096, .in = 4096, .out = 4096}, "v100-pcie-32gb",
                            "train", DType::Fp32);
  data.samples.resize(100, data.samples[0]);
  const double bound = bound_of(data, data.samples[0]);
  for (Sample& sample : data.samples) sample.measured = 1.3 * bound;
  EXPECT_TRUE(check_fittable(data)) << to_string(check_fittable(data).error());
  EXPECT_TRUE(warnings_of(data).empty());
  for (Sample& sample : data.samples) sample.measured = 1.3e-3 * bound;
  const Status status = check_fittable(data);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().where, "x.csv");
  EXPECT_EQ(status.error().hint, "about 1000x: are these seconds? Times are milliseconds");
}

}  // namespace
}  // namespace rooftile::calibration
