// SPDX-License-Identifier: Apache-2.0
#include "cost/bound.h"

#include <gtest/gtest.h>

namespace rooftile::cost {
namespace {

// 10 TFLOP/s, DRAM 1 TB/s, L2 4 TB/s, L1 20 TB/s.
const Roof kRoof{.compute = FlopsPerSecond::from_base(10e12),
                 .l1 = BytesPerSecond::from_base(20e12),
                 .l2 = BytesPerSecond::from_base(4e12),
                 .dram = BytesPerSecond::from_base(1e12)};

ops::KernelWork work_of(double flops) {
  ops::KernelWork work;
  work.flops = Flops::from_base(flops);
  return work;
}
traffic::Traffic traffic_of(double bytes, double kept) {
  const Bytes b = Bytes::from_base(bytes);
  return {.l1 = b,
          .l2 = b,
          .dram_read = b * 0.5,
          .dram_written = b * 0.5,
          .dram_avoidable = Bytes::from_base(kept)};
}

TEST(Bound, IsTheLargestTerm) {
  // 1e9 FLOP / 10e12 = 100 us; 50e6 B / 1e12 = 50 us.
  const Bound compute = bound(work_of(1e9), traffic_of(50e6, 0), kRoof);
  EXPECT_NEAR(to_us(compute.time), 100.0, 1e-9);
  EXPECT_EQ(compute.limiter, Resource::Compute);
  // 500e6 B / 1e12 = 500 us.
  const Bound dram = bound(work_of(1e9), traffic_of(500e6, 0), kRoof);
  EXPECT_NEAR(to_us(dram.time), 500.0, 1e-9);
  EXPECT_EQ(dram.limiter, Resource::Dram);
}

TEST(Bound, EveryLevelHasItsOwnBytes) {
  // 80e6 B at 20 TB/s, 40e6 B at 4 TB/s, (6 + 4 - 3)e6 B at 1 TB/s, 20e6 FLOP at 10 TFLOP/s.
  const BoundTerms terms = bound_terms(work_of(20e6),
                                       {.l1 = Bytes::from_base(80e6),
                                        .l2 = Bytes::from_base(40e6),
                                        .dram_read = Bytes::from_base(6e6),
                                        .dram_written = Bytes::from_base(4e6),
                                        .dram_avoidable = Bytes::from_base(3e6)},
                                       kRoof);
  const auto us = [&](Resource limiter) {
    return to_us(*terms[static_cast<std::size_t>(limiter)]);
  };
  EXPECT_NEAR(us(Resource::Compute), 2.0, 1e-9);
  EXPECT_NEAR(us(Resource::L1), 4.0, 1e-9);
  EXPECT_NEAR(us(Resource::L2), 10.0, 1e-9);
  EXPECT_NEAR(us(Resource::Dram), 7.0, 1e-9);
  EXPECT_NEAR(us(Resource::Launch), 1.5, 1e-9);
}

TEST(Bound, DataThatMayBeInL2IsBoundedByL2Only) {
  // 40e6 B all kept in L2: 40e6 / 4e12 = 10 us instead of 40 us from DRAM.
  const Bound resident = bound(work_of(0), traffic_of(40e6, 40e6), kRoof);
  EXPECT_NEAR(to_us(resident.time), 10.0, 1e-9);
  EXPECT_EQ(resident.limiter, Resource::L2);
}

TEST(Bound, TinyKernelsTakeTheLaunchFloor) {
  const Bound tiny = bound(work_of(100), traffic_of(100, 100), kRoof);
  EXPECT_EQ(tiny.limiter, Resource::Launch);
  EXPECT_EQ(tiny.time, kLaunchFloor);
}

TEST(Bound, WinogradMultipliesFourTimesLess) {
  // 4e9 FLOP of a direct 3x3 convolution need 1e9 by F(4x4,3x3): 1e9 / 10e12 = 100 us.
  ops::KernelWork work = work_of(4e9);
  work.shape = ops::ConvShape{.r = 3, .s = 3};
  EXPECT_NEAR(to_us(bound(work, traffic_of(0, 0), kRoof).time), 100.0, 1e-9);
  // 5x5 by FFT: 4 * 32 * 17 products for 28 x 28 outputs of 25 taps = 0.111.
  work.shape = ops::ConvShape{.r = 5, .s = 5};
  EXPECT_NEAR(least_flops(work).base(), 4e9 * 2176 / (28 * 28 * 25), 1);
  work.shape = ops::ConvShape{};
  EXPECT_EQ(least_flops(work), work.flops) << "1x1 is a matrix product";
  work.shape = ops::ConvShape{.r = 3, .s = 3, .stride_h = 2, .stride_w = 2};
  EXPECT_NEAR(to_us(bound(work, traffic_of(0, 0), kRoof).time), 400.0, 1e-9);
}

TEST(Bound, UnknownLevelsDoNotTakePart) {
  Roof roof = kRoof;
  roof.l1.reset();
  roof.l2.reset();
  EXPECT_EQ(bound(work_of(0), traffic_of(40e6, 40e6), roof).limiter, Resource::Launch);
}

}  // namespace
}  // namespace rooftile::cost
