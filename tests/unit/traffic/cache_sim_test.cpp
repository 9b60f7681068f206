// SPDX-License-Identifier: Apache-2.0
#include "traffic/cache_sim.h"

#include <gtest/gtest.h>

#include <bit>

namespace rooftile::traffic {
namespace {

std::int64_t sectors_of(const std::vector<LineRequest>& requests) {
  std::int64_t sum = 0;
  for (const LineRequest& request : requests) sum += std::popcount(request.sectors);
  return sum;
}

TEST(SectoredCache, FillsSectorsNotLines) {
  SectoredCache cache(4, 4, SetHash::Mix);  // one set
  EXPECT_EQ(cache.access(7, 0b0011), 0b0011U);
  EXPECT_EQ(cache.access(7, 0b0110), 0b0100U) << "sector 1 is there, sector 2 is not";
  EXPECT_EQ(cache.access(7, 0b0111), 0U);
}

TEST(SectoredCache, EvictsTheLeastRecentlyUsedLine) {
  SectoredCache cache(2, 2, SetHash::Multiply);
  cache.access(1, 1);
  cache.access(2, 1);
  cache.access(1, 1);  // 2 is now the oldest
  cache.access(3, 1);
  EXPECT_EQ(cache.access(1, 1), 0U);
  EXPECT_EQ(cache.access(2, 1), 1U);
  cache.clear();
  EXPECT_EQ(cache.access(1, 1), 1U);
}

// 4096 lines in half of 512 sets x 16 ways, at pitches of whole, Fibonacci and power-of-two numbers
// of lines: sets hold 8 on average, and P(more than 16) of a Poisson variable is
// 0.4 %, so hardly anything is evicted.
TEST(SectoredCache, MixedSetsFillEvenlyForAnyPitch) {
  for (const std::int64_t pitch : {1, 64, 89, 1024, 4096, 6765, 10946}) {
    SectoredCache cache(512 * 16, 16, SetHash::Mix);
    for (std::int64_t i = 0; i < 4096; ++i) cache.access(i * pitch, 1);
    int missed = 0;
    for (std::int64_t i = 0; i < 4096; ++i) missed += cache.access(i * pitch, 1) != 0 ? 1 : 0;
    EXPECT_LT(missed, 160) << pitch;
  }
}

TEST(ImplicitGemm, ForwardShapesAndTiles) {
  ops::ConvShape conv{.n = 2, .c = 3, .h = 8, .w = 8, .k = 64, .r = 3, .s = 3};
  conv.pad_h = conv.pad_w = 1;
  // M = 2*8*8, N = 64, K = 3*3*3.
  EXPECT_EQ(gemm_of(conv), (ops::GemmShape{.batch = 1, .m = 128, .n = 64, .k = 27}));
  conv.pass = ops::ConvPass::DataGradient;  // M = 2*8*8, N = 3, K = 64*9
  EXPECT_EQ(gemm_of(conv), (ops::GemmShape{.batch = 1, .m = 128, .n = 3, .k = 576}));
  conv.pass = ops::ConvPass::FilterGradient;  // M = 64, N = 27, K = 128
  EXPECT_EQ(gemm_of(conv), (ops::GemmShape{.batch = 1, .m = 64, .n = 27, .k = 128}));
  for (const auto& [n, tile] : {std::pair{32, 32},
                                {64, 64},
                                {96, 32},
                                {128, 128},
                                {192, 64},
                                {256, 128},
                                {384, 128},
                                {3, 32}}) {
    EXPECT_EQ(delta_tile(n).n, tile) << n;
  }
}

// One 8 x 8 image, 1x1 filter, FP32: lane i of k = 0 is address 4 i, so a warp's 32 lanes are 128
// contiguous bytes, one line of 4 sectors. 64 lanes, 2 warps, 2 lines.
TEST(ImplicitGemm, PointwiseLoadsAreContiguous) {
  const ops::ConvShape conv{.n = 1, .c = 8, .h = 8, .w = 8, .k = 32};
  const ImplicitGemm g = make_conv_problem(conv, DType::Fp32, {.tile = {.m = 64, .n = 32}});
  std::vector<LineRequest> requests;
  append_requests(g, g.a, {.tile = 0, .tile_rows = 64, .k_begin = 0, .k_end = 1}, requests);
  ASSERT_EQ(requests.size(), 2U);
  EXPECT_EQ(requests[1].line, 1);
  EXPECT_EQ(sectors_of(requests), 8);
  // B: 32 filters of 8 contiguous channels = 32 rows of one sector each, 4 rows in each line.
  requests.clear();
  append_requests(g, g.b, {.tile = 0, .tile_rows = 32, .k_begin = 0, .k_end = 8}, requests);
  EXPECT_EQ(sectors_of(requests), 32);
  EXPECT_EQ(requests.size(), 8U) << "four filters of one request share a line";
}

// 3x3 with padding 1 on a 4 x 4 image: tap (0,0) reads pixels (p-1, q-1); 9 of the 16 outputs are
// inside, rows 0..2, columns 0..2 of the input: bytes 0-11, 16-27, 32-43 = sectors 0 and 1.
TEST(ImplicitGemm, PaddingIsPredicatedOff) {
  ops::ConvShape conv{.n = 1, .c = 1, .h = 4, .w = 4, .k = 32, .r = 3, .s = 3};
  conv.pad_h = conv.pad_w = 1;
  const ImplicitGemm g = make_conv_problem(conv, DType::Fp32, {.tile = {.m = 32, .n = 32}});
  std::vector<LineRequest> requests;
  append_requests(g, g.a, {.tile = 0, .tile_rows = 32, .k_begin = 0, .k_end = 1}, requests);
  ASSERT_EQ(requests.size(), 1U);
  EXPECT_EQ(requests[0].sectors, 0b0011U);
}

// C[256,128] = A[256,64] B[64,128] in FP32, tiles 128x128x8 on one SM with ample caches:
// L1 loads A once (one column of tiles) = 64 KiB and B twice = 64 KiB; 8 k of A are one sector.
// Everything else is fetched once: 64 KiB + 32 KiB.
TEST(Simulate, GemmThatFitsMovesCompulsoryBytes) {
  const ImplicitGemm g =
      make_gemm_problem({.batch = 1, .m = 256, .n = 128, .k = 64}, DType::Fp32, {.tile = {}});
  const CacheMachine machine{
      .sm_count = 1, .active_ctas = 1, .l1_bytes = 1 << 20, .l2_bytes = 4 << 20};
  const auto t = simulate(g, machine, {});
  ASSERT_TRUE(t);
  EXPECT_EQ(t->a.l1, 65536);
  EXPECT_EQ(t->b.l1, 65536);
  EXPECT_EQ(t->a.l2, 65536);
  EXPECT_EQ(t->b.l2, 32768) << "the second tile of m finds B in L1";
  EXPECT_EQ(t->a.dram + t->b.dram, 65536 + 32768);
}

TEST(Simulate, StopsWhenAskedTo) {
  const ImplicitGemm g =
      make_gemm_problem({.batch = 1, .m = 512, .n = 512, .k = 512}, DType::Fp32, {.tile = {}});
  const CacheMachine machine{
      .sm_count = 2, .active_ctas = 1, .l1_bytes = 1 << 15, .l2_bytes = 1 << 20};
  const auto t =
      simulate(g, machine, [](const ProgressState& state) { return state.fraction < 0.5; });
  ASSERT_FALSE(t);
  EXPECT_NE(t.error().message.find("stopped"), std::string::npos);
}

TEST(CtaOrder, EveryOrderVisitsEveryTileOnce) {
  const ImplicitGemm g = make_gemm_problem({.batch = 3, .m = 128 * 21, .n = 128 * 5, .k = 8},
                                           DType::Fp32, {.tile = {}});
  for (const CtaOrder order : {CtaOrder::Column, CtaOrder::Row, CtaOrder::Swizzled}) {
    CacheMachine machine;
    machine.order = order;
    std::vector<bool> seen(static_cast<std::size_t>(g.ctas()), false);
    for (std::int64_t id = 0; id < g.ctas(); ++id) {
      const CtaIndex cta = cta_at(g, id, machine);
      ASSERT_LT(cta.m, g.tiles_m());
      ASSERT_LT(cta.n, g.tiles_n());
      const auto index =
          static_cast<std::size_t>((cta.z * g.tiles_n() + cta.n) * g.tiles_m() + cta.m);
      EXPECT_FALSE(seen[index]);
      seen[index] = true;
    }
  }
}

}  // namespace
}  // namespace rooftile::traffic
