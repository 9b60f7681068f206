// SPDX-License-Identifier: Apache-2.0
#include "core/error_statistics.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <vector>

namespace rooftile {
namespace {

TEST(ErrorStatistics, OfFourCases) {
  // errors +0.1, -0.2, 0, +0.5: mean |e| 0.8 / 4, bias 0.4 / 4; rank ceil(0.9 * 4) = 4 -> 0.5.
  const std::array<Compared, 4> cases{{
      {.measured = 10, .predicted = 11, .low = 9, .high = 12},
      {.measured = 10, .predicted = 8, .low = 7, .high = 9},     // outside: above
      {.measured = 10, .predicted = 10, .low = 10, .high = 10},  // states no interval
      {.measured = 10, .predicted = 15, .low = 11, .high = 20},  // outside: below
  }};
  const ErrorStatistics s = error_statistics(cases);
  EXPECT_EQ(s.cases, 4);
  EXPECT_NEAR(s.mean_error, 0.2, 1e-12);
  EXPECT_NEAR(s.bias, 0.1, 1e-12);
  EXPECT_NEAR(s.median_error, 0.1, 1e-12);  // rank ceil(0.5 * 4) = 2 of 0, 0.1, 0.2, 0.5
  // exp((ln 1.1 + ln 1.25 + 0 + ln 1.5) / 4) - 1
  EXPECT_NEAR(s.geometric_error, std::pow(1.1 * 1.25 * 1.5, 0.25) - 1, 1e-12);
  EXPECT_NEAR(s.p90_error, 0.5, 1e-12);
  EXPECT_NEAR(s.worst_error, 0.5, 1e-12);
  EXPECT_DOUBLE_EQ(s.coverage.value(), 1.0 / 3);
}

TEST(ErrorStatistics, NinetyPercentIsARankOfTheErrors) {
  std::vector<Compared> cases;
  for (int i = 1; i <= 20; ++i) cases.push_back({.measured = 100, .predicted = 100.0 + i});
  // ceil(0.9 * 20) = 18: the 18th of 1 %, 2 %, ..., 20 %.
  EXPECT_NEAR(error_statistics(cases).p90_error, 0.18, 1e-12);
}

TEST(ErrorGroups, BaselinesAreOfTheRowsThatHaveThem) {
  ErrorGroups groups;
  groups.add("b", {.measured = 10, .predicted = 12}, {{"bound", 5}, {"published x", 11}});
  groups.add("b", {.measured = 10, .predicted = 9}, {{"bound", 9}});
  groups.add("a", {.measured = 1, .predicted = 1}, {});
  const std::vector<ErrorSummary> summary = groups.summary();
  ASSERT_EQ(summary.size(), 2U);
  EXPECT_EQ(summary[0].group, "a");
  EXPECT_FALSE(summary[0].baseline("bound"));
  EXPECT_NEAR(summary[1].mean_error, 0.15, 1e-12);
  EXPECT_NEAR(summary[1].baseline("bound").value(), (0.5 + 0.1) / 2, 1e-12);
  EXPECT_NEAR(summary[1].baseline("published x").value(), 0.1, 1e-12);
  EXPECT_EQ(summary[1].baselines.at("published x").cases, 1);
}

TEST(ErrorStatistics, OfNothing) {
  const ErrorStatistics s = error_statistics({});
  EXPECT_EQ(s.cases, 0);
  EXPECT_EQ(s.mean_error, 0);
  EXPECT_EQ(s.p90_error, 0);
  EXPECT_FALSE(s.coverage);
}

}  // namespace
}  // namespace rooftile
