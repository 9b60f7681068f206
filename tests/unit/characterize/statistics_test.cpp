// SPDX-License-Identifier: Apache-2.0
#include "characterize/statistics.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace rooftile::characterize {
namespace {

std::vector<Seconds> seconds(std::initializer_list<double> values) {
  std::vector<Seconds> out;
  for (const double v : values) out.push_back(Seconds::from_base(v));
  return out;
}

TEST(Statistics, QuantileInterpolatesBetweenOrderStatistics) {
  const auto sorted = seconds({1, 2, 4, 8, 16});
  // position = 0.1 * 4 = 0.4 -> 1 + 0.4 * (2 - 1)
  EXPECT_DOUBLE_EQ(quantile(sorted, 0.1).base(), 1.4);
  EXPECT_DOUBLE_EQ(quantile(sorted, 0.5).base(), 4.0);
  EXPECT_DOUBLE_EQ(quantile(sorted, 1.0).base(), 16.0);
}

TEST(Statistics, OneTimeHasNoConfidence) {
  const TimeSummary s = summarize(seconds({3}), 0.95);
  EXPECT_EQ(s.fast, Seconds::from_base(3));
  EXPECT_EQ(s.confidence, 0.0);
  EXPECT_EQ(s.repetitions, 1);
}

TEST(Statistics, SlowOutliersDoNotMoveTheEstimate) {
  std::vector<Seconds> times;
  for (int i = 0; i < 20; ++i) times.push_back(Seconds::from_base(1.0 + 0.001 * i));
  const Seconds clean = summarize(times, 0.95).fast;
  for (int i = 12; i < 20; ++i) times[static_cast<std::size_t>(i)] = Seconds::from_base(50.0);
  EXPECT_NEAR(summarize(times, 0.95).fast / clean, 1.0, 0.001);
}

TEST(Statistics, OneFreakFastTimeMovesItLittle) {
  std::vector<Seconds> times(40, Seconds::from_base(1.0));
  times[7] = Seconds::from_base(0.1);
  // position = 0.1 * 39 = 3.9: between two ordinary times
  EXPECT_DOUBLE_EQ(summarize(times, 0.95).fast.base(), 1.0);
}

TEST(Statistics, IntervalCoversTheTrueQuantileAsOftenAsStated) {
  // Exponential noise on 1 s: the 10 % quantile is 1 - ln(0.9) = 1.10536.
  std::mt19937 random(7);
  std::exponential_distribution<double> noise(1.0);
  int covered = 0;
  double stated = 0.0;
  constexpr int kRounds = 2000;
  for (int round = 0; round < kRounds; ++round) {
    std::vector<Seconds> times;
    for (int i = 0; i < 60; ++i) times.push_back(Seconds::from_base(1.0 + noise(random)));
    const TimeSummary s = summarize(times, 0.95);
    covered += s.low.base() <= 1.10536 && 1.10536 <= s.high.base() ? 1 : 0;
    stated = s.confidence;
  }
  EXPECT_GE(stated, 0.95);
  EXPECT_NEAR(static_cast<double>(covered) / kRounds, stated, 0.02);
}

TEST(Statistics, StatesTheConfidenceItCanReachWithFewTimes) {
  // With n = 12 the chance that all times lie above the 10 % quantile is 0.9^12 = 0.2824; no order
  // statistic bounds that case, so no interval can cover more than 0.7176.
  const TimeSummary s = summarize(seconds({1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1.5}), 0.95);
  EXPECT_NEAR(s.confidence, 0.7176, 0.0005);
}

TEST(Statistics, StoppingRule) {
  const StoppingRule rule{.min_repetitions = 3,
                          .max_repetitions = 6,
                          .target_error = 0.01,
                          .confidence = 0.95,
                          .budget = Seconds::from_base(100)};
  EXPECT_EQ(check(rule, seconds({1, 1})), Stop::Continue);
  EXPECT_EQ(check(rule, seconds({1, 1, 1})), Stop::Converged);
  EXPECT_EQ(check(rule, seconds({1, 2, 3})), Stop::Continue);
  EXPECT_EQ(check(rule, seconds({1, 2, 3, 4, 5, 6})), Stop::OutOfBudget);
  EXPECT_EQ(check(rule, seconds({20, 40, 60})), Stop::OutOfBudget);
}

}  // namespace
}  // namespace rooftile::characterize
