// SPDX-License-Identifier: Apache-2.0
#include "aggregate/communication.h"

#include <gtest/gtest.h>

#include <cmath>

namespace rooftile::aggregate {
namespace {

using hardware::GroupLink;
using hardware::LinkKind;

const GroupLink kFabric{
    .kind = LinkKind::Fabric, .name = "test", .per_direction = BytesPerSecond::from_base(100e9)};
const GroupLink kPcie{
    .kind = LinkKind::Pcie, .name = "test", .per_direction = BytesPerSecond::from_base(100e9)};

TEST(Communication, AllReduceOfARing) {
  // 4 GPUs, 40 MB: 2 x 3/4 x 40 MB = 60 MB per GPU in 6 steps.
  // 5 us + 6 x 0.75 us + 60 MB / (0.85 x 100 GB/s) x (1 + (4/60)^0.4)
  const TransferTime t = all_reduce(Bytes::from_base(40e6), 4, kFabric);
  const double expected = 5 + 4.5 + 600 / 0.85 * (1 + std::pow(4.0 / 60.0, 0.4));
  EXPECT_NEAR(to_us(t.time), expected, 1e-6);
  EXPECT_NEAR(to_us(t.bound), 300.0, 1e-9);  // 30 MB must leave each GPU
  EXPECT_LT(t.low, t.time);
  EXPECT_GT(t.high, t.time);
}

TEST(Communication, NoGroupNoTime) {
  EXPECT_EQ(all_reduce(Bytes::from_base(40e6), 1, kFabric).time, Seconds{});
  EXPECT_EQ(all_reduce(Bytes{}, 8, kFabric).time, Seconds{});
  EXPECT_EQ(send(Bytes{}, kFabric).time, Seconds{});
}

TEST(Communication, NeverFasterThanTheLink) {
  for (const GroupLink& link : {kFabric, kPcie}) {
    for (const std::int64_t gpus : {2, 3, 8, 1024}) {
      for (double bytes = 1; bytes < 1e12; bytes *= 10) {
        const TransferTime t = all_reduce(Bytes::from_base(bytes), gpus, link);
        EXPECT_GE(t.low, t.bound);
        EXPECT_GE(t.time, t.low);
        EXPECT_GE(t.high, t.time);
      }
    }
  }
}

TEST(Communication, MoreThanTwoShareThePcieBridges) {
  // Long messages: each of four GPUs has a quarter of the link, a pair all of it.
  const Bytes bytes = Bytes::from_base(1e12);
  const double pair = all_reduce(bytes, 2, kPcie).time / all_reduce(bytes, 2, kPcie).bound;
  const double four = all_reduce(bytes, 4, kPcie).time / all_reduce(bytes, 4, kPcie).bound;
  EXPECT_NEAR(four / pair, 4.0, 0.01);
}

}  // namespace
}  // namespace rooftile::aggregate
