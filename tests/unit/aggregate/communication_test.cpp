// SPDX-License-Identifier: Apache-2.0
#include "aggregate/communication.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace rooftile::aggregate {
namespace {

constexpr cost::LinkConstants kConstants{
    .fabric = {.efficiency = 0.85, .start = 5e-6, .step = 0.75e-6, .ramp = 4e6, .spread = 1.2},
    .pcie = {.efficiency = 0.68, .start = 4e-6, .step = 0.75e-6, .ramp = 1e5, .spread = 1.5},
    .shape = {.ramp_exponent = 0.4, .network_spread = 1.5}};

using hardware::GroupLink;
using hardware::LinkKind;

GroupLink link_of(LinkKind kind, std::int64_t members) {
  return {.kind = kind,
          .name = "test",
          .per_direction = BytesPerSecond::from_base(100e9),
          .in_node = members};
}

/// `members` GPUs in each of `nodes` nodes, which have 8 GPUs and 80 GB/s of network.
GroupLink over_nodes(LinkKind kind, std::int64_t members, std::int64_t nodes) {
  GroupLink link = link_of(kind, members);
  link.nodes = nodes;
  const auto rate = BytesPerSecond::from_base(10e9 * static_cast<double>(members));
  link.network = hardware::NetworkShare{.name = "net", .per_direction = rate, .at_most = rate};
  return link;
}

TEST(Communication, AllReduceOfARing) {
  // 4 GPUs, 40 MB: 2 x 3/4 x 40 MB = 60 MB per GPU in 6 steps.
  // 5 us + 6 x 0.75 us + 60 MB / (0.85 x 100 GB/s) x (1 + (4/60)^0.4)
  const TransferTime t =
      all_reduce(Bytes::from_base(40e6), 4, link_of(LinkKind::Fabric, 4), kConstants);
  const double expected = 5 + 4.5 + 600 / 0.85 * (1 + std::pow(4.0 / 60.0, 0.4));
  EXPECT_NEAR(to_us(t.time), expected, 1e-6);
  EXPECT_NEAR(to_us(t.bound), 300.0, 1e-9);  // 30 MB must leave each GPU
  EXPECT_LT(t.low, t.time);
  EXPECT_GT(t.high, t.time);
}

TEST(Communication, OtherCollectivesSendHalfOfASum) {
  const GroupLink link = link_of(LinkKind::Fabric, 4);
  const auto time = [&](ops::CollectiveKind kind) {
    return exchange({.kind = kind, .bytes = Bytes::from_base(40e6), .gpus = 4}, link, kConstants);
  };
  // 3/4 x 40 MB = 30 MB per GPU in 3 steps, or in one.
  const double moving = 300 / 0.85 * (1 + std::pow(4.0 / 30.0, 0.4));
  EXPECT_NEAR(to_us(time(ops::CollectiveKind::AllGather).time), 5 + 2.25 + moving, 1e-6);
  EXPECT_NEAR(to_us(time(ops::CollectiveKind::ReduceScatter).time), 5 + 2.25 + moving, 1e-6);
  EXPECT_NEAR(to_us(time(ops::CollectiveKind::AllToAll).time), 5 + 0.75 + moving, 1e-6);
  EXPECT_NEAR(to_us(time(ops::CollectiveKind::AllGather).bound), 300.0, 1e-9);
  EXPECT_NEAR(to_us(time(ops::CollectiveKind::Broadcast).bound), 400.0, 1e-9);
  // Nobody fitted them: the interval of what has no data.
  const TransferTime gather = time(ops::CollectiveKind::AllGather);
  EXPECT_NEAR(gather.high / gather.time, 1.5, 1e-12);
  EXPECT_GE(gather.low, gather.bound);
  const TransferTime none = exchange({.bytes = Bytes::from_base(1), .gpus = 1}, link, kConstants);
  EXPECT_EQ(none.time, Seconds{});
}

TEST(Communication, NamesOfCollectives) {
  using ops::CollectiveKind;
  EXPECT_EQ(ops::collective_named("nccl:all_reduce"), CollectiveKind::AllReduce);
  EXPECT_EQ(ops::collective_named("_allgather_base"), CollectiveKind::AllGather);
  EXPECT_EQ(ops::collective_named("reduce_scatter_tensor_coalesced"),
            CollectiveKind::ReduceScatter);
  EXPECT_EQ(ops::collective_named("all_to_allv"), CollectiveKind::AllToAll);
  EXPECT_EQ(ops::collective_named("nccl:recv 0<-1"), CollectiveKind::Send);
  EXPECT_EQ(ops::collective_named("allreduce_barrier"), std::nullopt);
  EXPECT_EQ(ops::collective_named("wait"), std::nullopt);
}

TEST(Communication, ShortMessagesGoInOneShot) {
  const cost::OneShotForm shot{
      .efficiency = 0.5, .start = 3e-6, .step = 1e-7, .second = 4e-6, .spread = 1.3};
  const GroupLink link = link_of(LinkKind::Fabric, 4);
  const auto time = [&](double bytes) {
    return one_shot_all_reduce(Bytes::from_base(bytes), 4, link, kConstants, shot);
  };
  // 10 kB: 3 us + 4 x 0.1 us + 3 x 10 kB / 50 GB/s
  EXPECT_NEAR(to_us(time(1e4).time), 3.4 + 0.6, 1e-9);
  // 400 kB: two shots, 4 us + 2 x 3/4 x 400 kB / 50 GB/s = 16 us instead of 24 us
  EXPECT_NEAR(to_us(time(4e5).time), 3.4 + 16, 1e-9);
  EXPECT_LT(time(1e4).low, time(1e4).time);
  // Long ones are the library's, and so is everything over PCIe or a network.
  for (const double bytes : {1e4, 4e5, 4e7, 4e9}) {
    EXPECT_LE(time(bytes).time, all_reduce(Bytes::from_base(bytes), 4, link, kConstants).time);
    for (const GroupLink& other :
         {link_of(LinkKind::Pcie, 4), over_nodes(LinkKind::Fabric, 2, 2)}) {
      EXPECT_EQ(one_shot_all_reduce(Bytes::from_base(bytes), 4, other, kConstants, shot).time,
                all_reduce(Bytes::from_base(bytes), 4, other, kConstants).time);
    }
  }
}

TEST(Communication, NoGroupNoTime) {
  const GroupLink link = link_of(LinkKind::Fabric, 8);
  EXPECT_EQ(all_reduce(Bytes::from_base(40e6), 1, link, kConstants).time, Seconds{});
  EXPECT_EQ(all_reduce(Bytes{}, 8, link, kConstants).time, Seconds{});
  EXPECT_EQ(send(Bytes{}, 1, link, kConstants).time, Seconds{});
}

TEST(Communication, NeverFasterThanTheLink) {
  for (const LinkKind kind : {LinkKind::Fabric, LinkKind::Pcie}) {
    for (const std::int64_t gpus : {2, 3, 8, 1024}) {
      for (const GroupLink& link : {link_of(kind, gpus), over_nodes(kind, 1, gpus),
                                    over_nodes(kind, std::min<std::int64_t>(gpus, 8), 2)}) {
        for (double bytes = 1; bytes < 1e12; bytes *= 10) {
          const TransferTime t = all_reduce(Bytes::from_base(bytes), gpus, link, kConstants);
          EXPECT_GE(t.low, t.bound);
          EXPECT_GE(t.time, t.low);
          EXPECT_GE(t.high, t.time);
        }
      }
    }
  }
}

TEST(Communication, MoreThanTwoShareThePcieBridges) {
  // Long messages: each of four GPUs has a quarter of the link, a pair all of it.
  const Bytes bytes = Bytes::from_base(1e12);
  const auto per_bound = [&](std::int64_t gpus) {
    const TransferTime t = all_reduce(bytes, gpus, link_of(LinkKind::Pcie, gpus), kConstants);
    return t.time / t.bound;
  };
  EXPECT_NEAR(per_bound(4) / per_bound(2), 4.0, 0.01);
}

TEST(Communication, ARingLeavesEachNodeOnce) {
  // 16 GPUs fill two nodes, 40 MB: 2 x 15/16 x 40 MB = 75 MB leave each node through all of its
  // 80 GB/s, in 30 steps; with one member in each of 16 nodes through 10 GB/s.
  const Bytes bytes = Bytes::from_base(40e6);
  const auto expected = [](double rate) {
    return 5 + 22.5 + 75e6 / (0.85 * rate) * 1e6 * (1 + std::pow(4.0 / 75.0, 0.4));
  };
  const TransferTime whole = all_reduce(bytes, 16, over_nodes(LinkKind::Fabric, 8, 2), kConstants);
  EXPECT_NEAR(to_us(whole.time), expected(80e9), 1e-6);
  const TransferTime one = all_reduce(bytes, 16, over_nodes(LinkKind::Fabric, 1, 16), kConstants);
  EXPECT_NEAR(to_us(one.time), expected(10e9), 1e-6);
  // Half of the sum must leave each of two nodes: 20 MB at 80 GB/s, which takes longer than 15/16
  // of it takes to leave each GPU at 100 + 80 GB/s. Of 16 nodes: 37.5 MB at 10 GB/s.
  EXPECT_NEAR(to_us(whole.bound), 250.0, 1e-9);
  EXPECT_NEAR(to_us(one.bound), 3750.0, 1e-9);
  // PCIe bridges that eight GPUs share are slower than the network: 100 / 8 GB/s each.
  const TransferTime pcie = all_reduce(bytes, 16, over_nodes(LinkKind::Pcie, 8, 2), kConstants);
  EXPECT_NEAR(to_us(pcie.time),
              5 + 22.5 + 75e6 / (0.68 * 12.5e9) * 1e6 * (1 + std::pow(0.1 / 75.0, 0.4)), 1e-6);
}

TEST(Communication, AMessageIsBoundByItsParts) {
  // 100 MB over 10 GB/s; of eight GPUs that send the same bytes each must send an eighth.
  const GroupLink link = over_nodes(LinkKind::Fabric, 1, 2);
  const TransferTime t = send(Bytes::from_base(100e6), 8, link, kConstants);
  EXPECT_GT(to_ms(t.time), 10.0);
  EXPECT_NEAR(to_ms(t.bound), 1.25, 1e-9);
}

}  // namespace
}  // namespace rooftile::aggregate
