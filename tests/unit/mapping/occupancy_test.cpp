// SPDX-License-Identifier: Apache-2.0
#include "mapping/occupancy.h"

#include <gtest/gtest.h>

namespace rooftile::mapping {
namespace {

// One SM of a V100: 65536 registers, 96 KiB of shared memory, 2048 threads, 32 CTAs.
SmLimits v100() {
  return {.registers = 65536, .max_threads = 2048, .max_blocks = 32, .shared = 96_KiB};
}

TEST(Occupancy, RegistersLimitALargeProductTile) {
  // 128 x 128 outputs, 64 per thread: 256 threads x 128 registers = 32768, so 2 of 65536. Two
  // buffers of (128 + 128) x 8 x 4 B = 16 KiB of shared memory would allow 6, threads 8.
  EXPECT_EQ(active_ctas({.threads = 256, .registers_per_thread = 128, .shared = 16_KiB}, v100()),
            2);
}

TEST(Occupancy, SharedMemoryLimitsDeepTiles) {
  // 96 KiB / 40 KiB = 2.4; registers: 65536 / (128 x 64) = 8.
  EXPECT_EQ(active_ctas({.threads = 128, .registers_per_thread = 64, .shared = 40_KiB}, v100()), 2);
}

TEST(Occupancy, ThreadsAndBlocksLimitVectorKernels) {
  // 2048 / 128 = 16; with 32 threads 64, but an SM holds 32 CTAs.
  EXPECT_EQ(active_ctas({.threads = 128}, v100()), 16);
  EXPECT_EQ(active_ctas({.threads = 32}, v100()), 32);
  // A T4 has 1024 threads: 8.
  EXPECT_EQ(active_ctas({.threads = 128}, {.max_threads = 1024, .max_blocks = 16}), 8);
}

TEST(Occupancy, OneCtaAlwaysRunsAndUnknownsLimitNothing) {
  EXPECT_EQ(active_ctas({.threads = 1024, .registers_per_thread = 255}, v100()), 1);
  EXPECT_EQ(active_ctas({.threads = 256, .registers_per_thread = 128}, {}), 64);
}

}  // namespace
}  // namespace rooftile::mapping
