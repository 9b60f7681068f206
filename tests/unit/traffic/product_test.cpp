// SPDX-License-Identifier: Apache-2.0
#include "traffic/product.h"

#include <gtest/gtest.h>

namespace rooftile::traffic {
namespace {

/// 16-bit operands and results.
ProductWork square(std::int64_t edge) {
  const auto elements = static_cast<double>(edge * edge);
  return {.shape = {.batch = 1, .m = edge, .n = edge, .k = edge},
          .bytes = 6 * elements,
          .in_bytes = 2,
          .out_bytes = 2};
}
constexpr ProductMachine kMachine{.sms = 100, .l2_bytes = 40e6};
constexpr double kMatrix = 2.0 * 1024 * 1024;  // bytes

TEST(ProductBytes, EveryTileLoadsItsRowsAndColumns) {
  // 8 tiles along m and 4 along n: A is read 4 times, B 8 times, C written once.
  const ProductBytes bytes = product_bytes(square(1024), {.tile_m = 128, .tile_n = 256}, kMachine);
  EXPECT_DOUBLE_EQ(bytes.l1, 13 * kMatrix);
  EXPECT_DOUBLE_EQ(bytes.l2, 13 * kMatrix);
  EXPECT_DOUBLE_EQ(bytes.compulsory, 3 * kMatrix);
  EXPECT_NEAR(bytes.dram({}), 3 * kMatrix, 0.02 * kMatrix) << "the panels fit into the L2";
}

TEST(ProductBytes, AClusterLoadsItsColumnsOnce) {
  // Pairs of tiles along m share B: 4 times instead of 8; the SMs still receive as much.
  const ProductBytes bytes =
      product_bytes(square(1024), {.tile_m = 128, .tile_n = 256, .cluster = 2}, kMachine);
  EXPECT_DOUBLE_EQ(bytes.l1, 13 * kMatrix);
  EXPECT_DOUBLE_EQ(bytes.l2, 9 * kMatrix);
}

TEST(ProductBytes, PartialSumsGoThereAndBack) {
  const ProductBytes bytes = product_bytes(square(1024), {.split = 4}, kMachine);
  EXPECT_DOUBLE_EQ(bytes.partial, 4 * 4 * 1024.0 * 1024.0);
  EXPECT_DOUBLE_EQ(bytes.compulsory, 3 * kMatrix + 2 * bytes.partial);
}

TEST(ProductBytes, ARepeatedProductFindsWhatFits) {
  // 3 x 2.1 MB fit into 40 MB, and so do the activations and six copies of the weights.
  ProductWork warm = square(1024);
  warm.copies = 6;
  EXPECT_LT(product_bytes(warm, {}, kMachine).dram({}), 0.1 * kMatrix);
  // 60 copies do not: the weights come from DRAM, what else it touches does not.
  warm.copies = 60;
  EXPECT_NEAR(product_bytes(warm, {}, kMachine).dram({}), kMatrix, 0.05 * kMatrix);
  // Half of what comes again after 2^mid L2 sizes is lost.
  PanelMisses misses;
  misses.reuse_mid = -1;
  EXPECT_DOUBLE_EQ(misses.left_cache(-1), 0.5);
  EXPECT_GT(misses.left_cache(0), 0.9);
  // Nothing is repeated: every byte once.
  EXPECT_NEAR(product_bytes(square(1024), {}, kMachine).dram({}), 3 * kMatrix, 0.02 * kMatrix);
}

TEST(ProductBytes, PartialSumsComeAgainAtOnce) {
  // 2 x 16.8 MB stay in 400 MB of L2, not in 4 MB.
  const ProductCut split{.split = 4};
  const double large = product_bytes(square(1024), split, {.sms = 100, .l2_bytes = 400e6}).dram({});
  EXPECT_NEAR(large, 3 * kMatrix, 0.02 * kMatrix);
  const ProductBytes small = product_bytes(square(1024), split, {.sms = 100, .l2_bytes = 4e6});
  EXPECT_GT(small.dram({}), 3 * kMatrix + 1.9 * small.partial);
}

TEST(ProductBytes, LevelsAreOrderedAndMissesStayBelowRequests) {
  for (const std::int64_t edge : {1, 17, 300, 4096, 30000}) {
    for (const double l2 : {0.0, 1e6, 60e6}) {
      const ProductBytes bytes =
          product_bytes(square(edge), {.tile_m = 64, .tile_n = 64}, {.sms = 132, .l2_bytes = l2});
      EXPECT_GE(bytes.l1, bytes.l2);
      EXPECT_GE(bytes.l2 * (1 + 1e-12), bytes.dram({}));
      EXPECT_GE(bytes.dram({}), bytes.compulsory * (1 - 1e-12));
    }
  }
  // 132 tiles of 30000-deep panels against 1 MB: everything is read again.
  const ProductBytes large = product_bytes(square(30000), {}, {.sms = 132, .l2_bytes = 1e6});
  EXPECT_NEAR(large.dram({}), large.l2, 0.01 * large.l2);
}

}  // namespace
}  // namespace rooftile::traffic
