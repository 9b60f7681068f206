// SPDX-License-Identifier: Apache-2.0
#include "mapping/tile_plan.h"

#include <gtest/gtest.h>

namespace rooftile::mapping {
namespace {

hardware::GpuSpec gpu_with(std::int64_t sms) {
  hardware::GpuSpec gpu;
  gpu.sm.count = sms;
  return gpu;
}

ops::KernelWork gemm(ops::GemmShape shape) {
  ops::KernelWork work;
  work.kind = ops::KernelClass::Gemm;
  work.shape = shape;
  return work;
}

TEST(TilePlan, LargeGemmTakesTheLargestTile) {
  // 4096 / 128 = 32 tiles each way: 1024 tiles over 64 SMs are 16 full waves.
  const TilePlan plan = decompose(gemm({.m = 4096, .n = 4096, .k = 512}), gpu_with(64));
  EXPECT_EQ(plan.label(), "128x128");
  EXPECT_EQ(plan.tiles, 1024);
  EXPECT_DOUBLE_EQ(plan.waves(), 16.0);
  EXPECT_DOUBLE_EQ(plan.wave_factor(), 1.0);
}

TEST(TilePlan, SmallGemmTakesSmallTilesToFillTheGpu) {
  const TilePlan plan = decompose(gemm({.m = 256, .n = 256, .k = 4096}), gpu_with(64));
  EXPECT_LT(plan.tile_m * plan.tile_n, 128 * 128);
  EXPECT_GE(plan.tiles, 16);
}

TEST(TilePlan, AWastedEdgeIsATile) {
  // 640 rows of tiles, and 129 columns are three tiles of 64.
  const TilePlan plan = decompose(gemm({.m = 128 * 640, .n = 129, .k = 64}), gpu_with(1));
  ASSERT_EQ(plan.label(), "128x64");
  EXPECT_EQ(plan.tiles, 640 * 3);
}

TEST(TilePlan, SoftmaxHasOneRowPerTile) {
  ops::KernelWork work;
  work.kind = ops::KernelClass::Softmax;
  work.shape = ops::RowShape{.rows = 1000, .columns = 77};
  const TilePlan plan = decompose(work, gpu_with(10));
  EXPECT_EQ(plan.tiles, 1000);
  EXPECT_EQ(plan.tile_n, 77);
  // 10 SMs x 16 CTAs = 160 at a time: 6.25 waves, so 7 / 6.25.
  EXPECT_DOUBLE_EQ(plan.waves(), 6.25);
  EXPECT_DOUBLE_EQ(plan.wave_factor(), 7.0 / 6.25);
}

}  // namespace
}  // namespace rooftile::mapping
