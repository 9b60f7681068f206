// SPDX-License-Identifier: Apache-2.0
#include "traffic/footprint.h"

#include <gtest/gtest.h>

namespace rooftile::traffic {
namespace {

ImplicitGemm problem(std::int64_t dilation, std::int64_t stride, ops::ConvPass pass) {
  ops::ConvShape conv{.n = 2, .c = 4, .h = 16, .w = 32, .k = 8, .r = 3, .s = 3};
  conv.dilation_h = conv.dilation_w = dilation;
  conv.stride_h = conv.stride_w = stride;
  conv.pad_h = conv.pad_w = dilation;
  conv.pass = pass;
  return make_conv_problem(conv, DType::Fp32, {});
}

std::vector<std::int64_t> collected(Footprint& footprint, Range lanes, Range taps) {
  std::vector<std::int64_t> out;
  footprint.collect(lanes, taps, out);
  return out;
}

// Row 5 of the second image, whole: under the taps -1, 0, 1 rows 4 to 6 of 4 blocks of 8 pixels.
TEST(Footprint, TapsTouchNeighbouringRows) {
  const ImplicitGemm g = problem(1, 1, ops::ConvPass::Forward);
  Footprint footprint(g.a, {.rows = 1, .columns = 8});
  EXPECT_EQ(footprint.blocks_per_plane(), 16 * 4);
  const std::int64_t row = (16 + 5) * 32;
  const auto blocks = collected(footprint, {row, row + 32}, {0, 3});
  ASSERT_EQ(blocks.size(), 12U);
  EXPECT_EQ(blocks.front(), 64 + 4 * 4);
  EXPECT_EQ(blocks.back(), 64 + 6 * 4 + 3);
  EXPECT_EQ(collected(footprint, {row, row + 32}, {1, 2}).size(), 4U) << "the middle row alone";
}

// Taps 6 rows apart: rows 2, 8 and 14 under row 8, and only 6 and 12 under row 6 would reach 0.
TEST(Footprint, DilationSpreadsTheTaps) {
  const ImplicitGemm g = problem(6, 1, ops::ConvPass::Forward);
  Footprint footprint(g.a, {.rows = 1, .columns = 32});
  EXPECT_EQ(collected(footprint, {8 * 32, 9 * 32}, {0, 3}), (std::vector<std::int64_t>{2, 8, 14}));
  EXPECT_EQ(collected(footprint, {4 * 32, 5 * 32}, {0, 3}), (std::vector<std::int64_t>{4, 10}))
      << "row -2 is padding";
}

// A data gradient with stride 2: of input rows 4 and 5 the first meets gradient row 2 (tap 1), the
// second rows 2 and 3.
TEST(Footprint, StridedGradientsSkipRows) {
  const ImplicitGemm g = problem(1, 2, ops::ConvPass::DataGradient);
  Footprint footprint(g.a, {.rows = 1, .columns = 32});
  EXPECT_EQ(collected(footprint, {4 * 32, 5 * 32}, {0, 3}), (std::vector<std::int64_t>{2}));
  EXPECT_EQ(collected(footprint, {5 * 32, 6 * 32}, {0, 3}), (std::vector<std::int64_t>{3, 2}));
}

TEST(Footprint, SharesOfAPlaneAddUp) {
  const ImplicitGemm g = problem(1, 1, ops::ConvPass::FilterGradient);
  const Footprint footprint(g.b, {.rows = 3, .columns = 7});
  double sum = 0;
  for (std::int64_t i = 0; i < footprint.blocks_per_plane(); ++i) sum += footprint.share(i);
  EXPECT_NEAR(sum, 1, 1e-12);
  EXPECT_NEAR(footprint.share(0), 3.0 * 7 / (16 * 32), 1e-12);
}

}  // namespace
}  // namespace rooftile::traffic
