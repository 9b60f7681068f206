// SPDX-License-Identifier: Apache-2.0
#include "characterize/plateau.h"

#include <gtest/gtest.h>

namespace rooftile::characterize {
namespace {

std::vector<CacheLevel> caches() {
  return {{.name = "L1", .capacity = 64_KiB, .instances = 2, .line = {}},
          {.name = "L2", .capacity = 1_MiB, .instances = 2, .line = {}},
          {.name = "L3", .capacity = 32_MiB, .instances = 1, .line = {}}};
}

CurvePoint point(double kib, double value) {
  return {.working_set = Bytes::from_base(kib * 1024),
          .value = value,
          .low = value * 0.99,
          .high = value * 1.01};
}

TEST(Plateau, WindowsFollowTheTopology) {
  const auto windows = level_windows(caches(), Pattern::Load);
  ASSERT_EQ(windows.size(), 4u);
  EXPECT_EQ(windows[0].name, "L1");
  EXPECT_EQ(windows[0].low, Bytes{});
  EXPECT_DOUBLE_EQ(windows[0].high->base(), 64 * 1024 * 0.8);
  EXPECT_DOUBLE_EQ(windows[1].low.base(), 64 * 1024 * 1.5);
  EXPECT_EQ(windows[3].name, "DRAM");
  EXPECT_DOUBLE_EQ(windows[3].low.base(), 4 * 32.0 * 1024 * 1024 * 0.98);
  EXPECT_FALSE(windows[3].high.has_value());
}

TEST(Plateau, NamesLevelsByWorkingSetNotByOrder) {
  // No point lies in the window of L2 (96 to 819 KiB): L2 is absent and L3 keeps its name.
  const auto found =
      find_plateaus(std::vector{point(8, 400), point(16, 405), point(2048, 100), point(4096, 102),
                                point(131072, 40), point(262144, 41)},
                    level_windows(caches(), Pattern::Load), Better::Larger);
  ASSERT_EQ(found.size(), 3u);
  EXPECT_EQ(found[0].level, "L1");
  EXPECT_EQ(found[1].level, "L3");
  EXPECT_EQ(found[2].level, "DRAM");
  EXPECT_DOUBLE_EQ(found[1].value, 101);
}

TEST(Plateau, IgnoresPointsBetweenTheLevels) {
  // 64 KiB fills L1 completely and 32 MiB fills L3: neither belongs to a window.
  const auto found = find_plateaus(std::vector{point(32, 400), point(64, 250), point(128, 200),
                                               point(256, 198), point(32768, 60)},
                                   level_windows(caches(), Pattern::Load), Better::Larger);
  ASSERT_EQ(found.size(), 2u);
  EXPECT_DOUBLE_EQ(found[0].value, 400);
  EXPECT_EQ(found[0].points, 1);
  EXPECT_DOUBLE_EQ(found[1].value, 199);
  EXPECT_EQ(found[1].points, 2);
}

TEST(Plateau, ADisturbedPointDoesNotMoveThePlateau) {
  const auto found = find_plateaus(
      std::vector{point(2048, 100), point(4096, 98), point(8192, 99), point(16384, 55)},
      level_windows(caches(), Pattern::Load), Better::Larger);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_DOUBLE_EQ(found[0].value, 99);
  EXPECT_EQ(found[0].points, 3);
  EXPECT_EQ(found[0].to, 8_MiB);
}

// The larger half of a shared cache is in use by others: those chains agree on the latency of
// memory. Both runs were taken on such a machine.
TEST(Plateau, OthersInASharedCacheDoNotDecide) {
  const auto windows = level_windows(caches(), Pattern::Chase);
  const auto one =
      find_plateaus(std::vector{point(4096, 13.7), point(4864, 14.2), point(8192, 39.8),
                                point(16384, 104), point(23168, 108)},
                    windows, Better::Smaller);
  const auto other =
      find_plateaus(std::vector{point(4096, 13.3), point(4864, 14.6), point(8192, 14.9),
                                point(16384, 138), point(23168, 134), point(25600, 136)},
                    windows, Better::Smaller);
  ASSERT_EQ(one.size(), 1u);
  ASSERT_EQ(other.size(), 1u);
  EXPECT_NEAR(one[0].value / other[0].value, 1.0, 0.1);
  EXPECT_NEAR(one[0].value, 14, 1);
}

TEST(Plateau, L1OfAGpuHasACurveOfItsOwn) {
  // All L1 of a V100 together are larger than its L2.
  const std::vector<CacheLevel> v100{
      {.name = "L1", .capacity = 10_MiB, .instances = 80, .line = {}, .apart = true},
      {.name = "L2", .capacity = 6_MiB, .instances = 1, .line = {}}};
  const auto own = level_windows(v100, Pattern::LoadL1);
  ASSERT_EQ(own.size(), 1u);
  EXPECT_EQ(own[0].name, "L1");
  EXPECT_DOUBLE_EQ(own[0].high->base(), 8.0 * 1024 * 1024);
  const auto others = level_windows(v100, Pattern::Load);
  ASSERT_EQ(others.size(), 2u);
  EXPECT_EQ(others[0].name, "L2");
  EXPECT_EQ(others[0].low, Bytes{});
  const auto chains = level_windows(v100, Pattern::Chase);  // one thread sees one L1
  ASSERT_EQ(chains.size(), 3u);
  EXPECT_DOUBLE_EQ(chains[0].high->base(), 128 * 1024 * 0.8);
  EXPECT_DOUBLE_EQ(chains[1].low.base(), 128 * 1024 * 1.5);
}

TEST(Plateau, WithoutAgreementTakesTheBetterEnd) {
  const auto curve = std::vector{point(2048, 50), point(4096, 100), point(8192, 70)};
  EXPECT_DOUBLE_EQ(
      find_plateaus(curve, level_windows(caches(), Pattern::Load), Better::Larger)[0].value, 100);
  EXPECT_DOUBLE_EQ(
      find_plateaus(curve, level_windows(caches(), Pattern::Load), Better::Smaller)[0].value, 50);
}

TEST(Plateau, MemoryIsSeveralTimesTheLastCache) {
  // 64 MiB fit into two slices of 32 MiB of which the system tells one: not memory.
  const auto few = find_plateaus(std::vector{point(65536, 110), point(98304, 108)},
                                 level_windows(caches(), Pattern::Load), Better::Larger);
  EXPECT_TRUE(few.empty());
  // No two points agree: the largest set is the one that the caches help least.
  const auto falling =
      find_plateaus(std::vector{point(131072, 90), point(185344, 60), point(262144, 45)},
                    level_windows(caches(), Pattern::Load), Better::Larger);
  ASSERT_EQ(falling.size(), 1u);
  EXPECT_DOUBLE_EQ(falling[0].value, 45);
  EXPECT_EQ(falling[0].points, 1);
}

TEST(Plateau, AMachineThatTellsNothingHasMemoryOnly) {
  const auto windows = level_windows({}, Pattern::Load);
  EXPECT_EQ(windows[0].low, 4.0 * 32_MiB * 0.98);
  ASSERT_EQ(windows.size(), 1u);
  EXPECT_EQ(windows[0].name, "DRAM");
  EXPECT_TRUE(find_plateaus({}, windows, Better::Larger).empty());
}

}  // namespace
}  // namespace rooftile::characterize
