// SPDX-License-Identifier: Apache-2.0
#include "hardware/ert_rule.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "core/file.h"
#include "shared_data.h"

namespace rooftile::hardware {
namespace {

constexpr const char* kRun =
    "profiles/ebugger__Empirical-Roofline-Toolkit__Empirical_Roofline_Tool-1.1.0__Results.p100.01__"
    "Run.018__FLOPS.001__MPI.0001__OpenMP.0008__try.00";

std::vector<ErtPoint> load_run() {
  std::vector<SweepSample> samples;
  for (const char* n : {"1", "2", "3"}) {
    const auto text =
        read_file((rooftile::testing::shared_data() / (kRun + std::string(n))).string());
    EXPECT_TRUE(text.has_value());
    const auto file = read_ert(*text, "try");
    EXPECT_TRUE(file.has_value()) << to_string(file.error());
    samples.insert(samples.end(), file->sweep.begin(), file->sweep.end());
  }
  return ert_points(samples);
}

double rounded(BytesPerSecond bandwidth) {
  return std::round(bandwidth.base() * 1e-7) / 100.0;  // GB/s as `sum` prints it
}

TEST(ErtRule, ReproducesAPublishedSummary) {
  if (!rooftile::testing::has_shared_data(kRun + std::string("1")))
    GTEST_SKIP() << "no shared data";
  const ErtSummary s = summarize_ert(load_run(), {.gap = 1.25});
  EXPECT_NEAR(s.peak.base() * 1e-9, 62.18, 0.005);
  EXPECT_NEAR(s.weight, 7451.61, 0.005);
  ASSERT_EQ(s.levels.size(), 4u);
  EXPECT_EQ(s.levels[0].name, "L1");
  EXPECT_EQ(s.levels[3].name, "DRAM");
  EXPECT_DOUBLE_EQ(rounded(s.levels[0].bandwidth), 991.11);
  EXPECT_DOUBLE_EQ(rounded(s.levels[1].bandwidth), 541.26);
  EXPECT_DOUBLE_EQ(rounded(s.levels[2].bandwidth), 298.56);
  EXPECT_DOUBLE_EQ(rounded(s.levels[3].bandwidth), 66.14);
}

TEST(ErtRule, ReproducesTheSuccessorsThreshold) {
  if (!rooftile::testing::has_shared_data(kRun + std::string("1")))
    GTEST_SKIP() << "no shared data";
  const ErtSummary s = summarize_ert(load_run(), {.gap = 1.15});
  ASSERT_EQ(s.levels.size(), 5u);
  EXPECT_DOUBLE_EQ(rounded(s.levels[0].bandwidth), 994.83);
  EXPECT_DOUBLE_EQ(rounded(s.levels[1].bandwidth), 862.81);
  EXPECT_DOUBLE_EQ(rounded(s.levels[2].bandwidth), 541.26);
  EXPECT_DOUBLE_EQ(rounded(s.levels[3].bandwidth), 298.56);
  EXPECT_DOUBLE_EQ(rounded(s.levels[4].bandwidth), 66.14);
}

TEST(ErtRule, KeepsTheLongestRunAndTheMedianExperiment) {
  const auto trial = [](std::int64_t trials, double us) {
    const auto bytes = static_cast<double>(trials) * 2000.0;
    return SweepSample{.working_set = 1000,
                       .trials = trials,
                       .bandwidth = bytes / us * 1e6,
                       .rate = bytes / 4 / us * 1e6,
                       .dtype = DType::Fp64};
  };
  // The one-trial run is faster per byte, but `max` keeps the four-trial run; its median of
  // {4, 10, 5} us is 5 us: 8000 B / 5 us = 1.6 GB/s and 2000 FLOP / 5 us = 0.4 GFLOP/s.
  const std::vector<SweepSample> samples{trial(1, 0.1), trial(4, 4),   trial(1, 0.1),
                                         trial(4, 10),  trial(1, 0.1), trial(4, 5)};
  const auto points = ert_points(samples);
  ASSERT_EQ(points.size(), 1u);
  EXPECT_NEAR(points[0].bandwidth.base(), 1.6e9, 1);
  EXPECT_NEAR(points[0].rate.base(), 0.4e9, 1);
}

TEST(ErtRule, NoPointsGiveNoLevels) {
  EXPECT_TRUE(summarize_ert({}, {}).levels.empty());
}

}  // namespace
}  // namespace rooftile::hardware
