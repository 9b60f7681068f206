// SPDX-License-Identifier: Apache-2.0
#include "profile/select.h"

#include <gtest/gtest.h>

#include <cmath>

#include "profile/importer.h"

namespace rooftile::profile {
namespace {

/// gemm, add, gemm, add, gemm at 0, 10, ... us, of 1 to 5 us.
RawProfile run() {
  ProfileBuilder builder("test", "x");
  for (int i = 0; i < 5; ++i) {
    const std::size_t kernel = builder.kernel(i % 2 == 0 ? "gemm<float>(int)" : "add");
    builder.series(kernel).rows += 1;
    Launch launch;
    launch.begin = 1e-5 * i;
    builder.add_launch(kernel, launch);
    builder.add(kernel, "duration", 1e-6 * (i + 1), 1.0);
  }
  return builder.finish(false);
}

std::vector<double> times(const RawProfile& profile) {
  std::vector<double> all;
  for (const KernelSeries& kernel : profile.kernels) {
    for (const double value : kernel.find("duration")->values)
      all.push_back(std::round(value * 1e6));
  }
  return all;
}

TEST(Select, KernelsByARegularExpression) {
  const auto gemms = select(run(), {.kernel = "^gemm<.*\\(int\\)$"});
  ASSERT_TRUE(gemms);
  EXPECT_EQ(gemms->kernels.size(), 1U);
  const auto none = select(run(), {.kernel = "conv"});
  ASSERT_FALSE(none);
  EXPECT_NE(none.error().message.find("no kernel matches"), std::string::npos);
  const auto wrong = select(run(), {.kernel = "gemm("});
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().code, ErrorCode::Usage);
}

// Launches 1 and 2 of all; of the gemms alone the second one.
TEST(Select, LaunchesAreSkippedAndCountedAmongThoseThatMatch) {
  const auto all = select(run(), {.skip = 1, .count = 2});
  ASSERT_TRUE(all);
  EXPECT_EQ(times(*all), (std::vector<double>{3, 2}));
  const auto gemms = select(run(), {.kernel = "gemm", .skip = 1, .count = 1});
  ASSERT_TRUE(gemms);
  EXPECT_EQ(times(*gemms), std::vector<double>{3});
  EXPECT_FALSE(select(run(), {.skip = 5}));
}

TEST(Select, AWindowOfTime) {
  const auto part = select(run(), {.from = 1e-5, .until = 3e-5});
  ASSERT_TRUE(part);
  EXPECT_EQ(times(*part), (std::vector<double>{3, 2}));
}

TEST(Select, SummariesDoNotListLaunches) {
  ProfileBuilder builder("test", "x");
  builder.add(builder.kernel("k"), "duration", 1e-6, 10.0);
  const auto part = select(builder.finish(false), {.count = 1});
  ASSERT_FALSE(part);
  EXPECT_EQ(part.error().code, ErrorCode::Unsupported);
}

TEST(CompleteLaunches, AClaimedNumberOfLaunchesTakesNoMemory) {
  KernelSeries claimed;
  claimed.rows = 6'320'600'000'000;
  EXPECT_FALSE(complete_launches(claimed)) << "no counter has a gap";
}

}  // namespace
}  // namespace rooftile::profile
