// SPDX-License-Identifier: Apache-2.0
#include "characterize/plausibility.h"

#include <gtest/gtest.h>

#include <limits>

#include "unit/characterize/fake_device.h"

namespace rooftile::characterize {
namespace {

Sample sample_of(Pattern pattern, PassWork work, double seconds) {
  Sample s;
  s.what = {.pattern = pattern,
            .dtype = DType::Fp64,
            .pipe = {},
            .working_set = 8_KiB,
            .flops_per_element = pattern == Pattern::Update ? 64 : 0};
  s.work = work;
  s.time.fast = Seconds::from_base(seconds);
  return s;
}

Sample moving(Pattern pattern, double bytes_per_second) {
  return sample_of(pattern, {.bytes = Bytes::from_base(bytes_per_second), .flops = {}, .steps = 0},
                   1.0);
}

/// 256 bytes loaded, 128 stored and 32 FLOP (FP64) per cycle.
class PlausibilityTest : public ::testing::Test {
 protected:
  testing::FakeDevice device_;
  Plausibility at_clock(Hertz clock) {
    Plausibility out(device_.description());
    out.observe(clock);
    return out;
  }
};

TEST_F(PlausibilityTest, TakesTheHighestClockItCanKnow) {
  Plausibility none(device_.description());
  EXPECT_EQ(none.highest_clock(), kFastestClock);
  none.observe(std::nullopt);
  EXPECT_TRUE(none.observed().empty());
  Plausibility seen = at_clock(3000_MHz);
  seen.observe(2000_MHz);
  EXPECT_DOUBLE_EQ(seen.highest_clock().base(), 3.3e9);  // the highest, plus 10 %
  device_.description_.max_clock = 4000_MHz;
  EXPECT_DOUBLE_EQ(seen.highest_clock().base(), 4e9);  // stated, boosts included
  EXPECT_DOUBLE_EQ(Plausibility(device_.description()).highest_clock().base(), 5e9);  // plus 25 %
}

TEST_F(PlausibilityTest, BoundsRatesByTheUnits) {
  const Plausibility p = at_clock(1000_MHz);  // 32 FLOP x 1.1 GHz = 35.2 GFLOP/s
  const auto rate = [](double flops) {
    return sample_of(Pattern::Update,
                     {.bytes = 1_KiB, .flops = Flops::from_base(flops), .steps = 0}, 1.0);
  };
  EXPECT_FALSE(p.doubt(rate(35e9)));
  EXPECT_EQ(p.doubt(rate(36e9)),
            "36.0 GFLOP/s, above the 35.2 GFLOP/s that 2 units can do at up to 1.10 GHz");
  Sample other = rate(1);
  other.what.dtype = DType::Int8;
  EXPECT_EQ(p.doubt(other), "the device states no limit of this format");
}

TEST_F(PlausibilityTest, BoundsBandwidthByLoadsAndStores) {
  const Plausibility p = at_clock(1000_MHz);
  // Bytes per cycle at 1.1 GHz: loads 256, stores 128, one of each 256, two loads and a store 384.
  const std::pair<Pattern, double> limits[] = {{Pattern::Load, 256 * 1.1e9},
                                               {Pattern::Store, 128 * 1.1e9},
                                               {Pattern::StoreNt, 128 * 1.1e9},
                                               {Pattern::Copy, 256 * 1.1e9},
                                               {Pattern::TriadNt, 384 * 1.1e9}};
  for (const auto& [pattern, limit] : limits) {
    EXPECT_FALSE(p.doubt(moving(pattern, limit * 0.999))) << name_of(pattern);
    EXPECT_TRUE(p.doubt(moving(pattern, limit * 1.001))) << name_of(pattern);
  }
  // No scratchpad was stated: nothing can come from it.
  EXPECT_TRUE(p.doubt(moving(Pattern::Shared, 1.0)));
  // A rate that is possible does not excuse a bandwidth that is not.
  EXPECT_TRUE(p.doubt(sample_of(
      Pattern::Update, {.bytes = Bytes::from_base(1e12), .flops = 1e9 * 1_FLOP, .steps = 0}, 1.0)));
}

TEST_F(PlausibilityTest, BoundsLatencyAndOverheadFromBelow) {
  const Plausibility p = at_clock(1000_MHz);
  const auto steps = [](Pattern pattern, double seconds) {
    return sample_of(pattern, {.bytes = {}, .flops = {}, .steps = 10}, seconds * 10);
  };
  EXPECT_FALSE(p.doubt(steps(Pattern::Chase, 2.8e-9)));  // 3 cycles at 1.1 GHz are 2.73 ns
  EXPECT_TRUE(p.doubt(steps(Pattern::Chase, 2.6e-9)));
  EXPECT_FALSE(p.doubt(steps(Pattern::Launch, 19e-9)));  // 20 cycles are 18.2 ns
  EXPECT_TRUE(p.doubt(steps(Pattern::Launch, 1e-9)));
}

TEST_F(PlausibilityTest, NoTimeAndNoNumberAreImplausible) {
  const Plausibility p = at_clock(1000_MHz);
  for (const double time : {0.0, -1.0, std::numeric_limits<double>::quiet_NaN()}) {
    const Sample s = sample_of(Pattern::Load, {.bytes = 1_KiB, .flops = {}, .steps = 0}, time);
    EXPECT_EQ(p.doubt(s), "it took no time at all") << time;
  }
}

TEST(Omissions, AreOneWarningPerPatternAndFormat) {
  const Case bf16{.pattern = Pattern::Update,
                  .dtype = DType::Bf16,
                  .pipe = {},
                  .working_set = 8_KiB,
                  .flops_per_element = 1};
  Case more = bf16;
  more.flops_per_element = 2;
  Case load = bf16;
  load.pattern = Pattern::Load;
  load.flops_per_element = 0;
  EXPECT_EQ(describe_omissions({{bf16, "too fast"}, {more, "much too fast"}, {load, "no"}}),
            (std::vector<std::string>{"update bf16, 8 KiB, 1 FLOP is left out: measured twice, too "
                                      "fast (and 1 more of this kind)",
                                      "load bf16, 8 KiB is left out: measured twice, no"}));
}

}  // namespace
}  // namespace rooftile::characterize
