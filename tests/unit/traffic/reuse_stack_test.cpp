// SPDX-License-Identifier: Apache-2.0
#include "traffic/reuse_stack.h"

#include <gtest/gtest.h>

namespace rooftile::traffic {
namespace {

// Blocks 1 and 2 of 100 bytes in one step each, then 1 again: 100 bytes and half of its own step
// have followed, 150 of 1600: P(Gamma(16) <= 1.5) is below 1e-9.
TEST(ReuseStack, KeepsWhatFits) {
  ReuseStack stack(1600, 16, 8);
  stack.begin_step();
  EXPECT_EQ(stack.touch(1, 100), 1) << "first touch";
  EXPECT_EQ(stack.touch(1, 100), 0) << "same step";
  stack.begin_step();
  EXPECT_EQ(stack.touch(2, 100), 1);
  stack.begin_step();
  EXPECT_LT(stack.touch(1, 100), 1e-6);
  EXPECT_EQ(stack.touches(), 4);
}

// 950 bytes and half of the own step, 1000 in all, have followed: the capacity. Half of the sets
// hold more than their ways: P(Gamma(16) <= 16) = 0.533. With 4 capacities nothing is left.
TEST(ReuseStack, SetsOverflowAroundTheCapacity) {
  ReuseStack stack(1000, 16, 8);
  stack.begin_step();
  stack.touch(1, 100);
  stack.begin_step();
  stack.touch(2, 950);
  stack.begin_step();
  EXPECT_NEAR(stack.touch(1, 100), 0.533, 0.002);
  stack.begin_step();
  stack.touch(3, 5000);
  stack.begin_step();
  EXPECT_EQ(stack.touch(2, 950), 1);
}

// A cyclic sweep over more blocks than the table starts with: each distance is the whole sweep.
TEST(ReuseStack, GrowsWithItsBlocks) {
  constexpr std::uint64_t kBlocks = 10'000;
  ReuseStack large(1e6, 16, 2 * kBlocks);
  ReuseStack small(1e3, 16, 2 * kBlocks);
  double hits = 0;
  double misses = 0;
  for (std::uint64_t i = 0; i < 2 * kBlocks; ++i) {
    large.begin_step();
    small.begin_step();
    const double kept = large.touch(i % kBlocks, 1);
    misses += small.touch(i % kBlocks, 1);
    if (i >= kBlocks) hits += 1 - kept;
  }
  EXPECT_NEAR(hits, kBlocks, 1e-6);
  EXPECT_NEAR(misses, 2 * kBlocks, 1e-6);
}

}  // namespace
}  // namespace rooftile::traffic
