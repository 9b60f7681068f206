// SPDX-License-Identifier: Apache-2.0
#include "characterize/mpi/mpi_session.h"

#include <gtest/gtest.h>

#include "unit/characterize/fake_device.h"

namespace rooftile::characterize::mpi {
namespace {

Sample load_sample(double bytes, double seconds) {
  Sample s;
  s.what = {.pattern = Pattern::Load,
            .dtype = DType::Fp64,
            .pipe = {},
            .working_set = 8_KiB,
            .flops_per_element = 0};
  s.work.bytes = Bytes::from_base(bytes);
  s.time.fast = s.time.low = s.time.high = s.time.minimum = s.time.median = s.time.maximum =
      Seconds::from_base(seconds);
  return s;
}

TEST(Mpi, AddsWorkInTheTimeOfTheSlowest) {
  // Two ranks move 100 and 300 bytes; the slower one takes 2 s: 200 B/s together.
  const auto sum = add_up({{load_sample(100, 1)}, {load_sample(300, 2)}}, {load_sample(100, 2)});
  ASSERT_TRUE(sum.has_value());
  EXPECT_DOUBLE_EQ(bandwidth(sum->front()).base(), 200);
}

TEST(Mpi, RefusesRanksThatDidDifferentThings) {
  Sample other = load_sample(100, 1);
  other.what.pattern = Pattern::Store;
  EXPECT_FALSE(add_up({{load_sample(100, 1)}, {other}}, {load_sample(100, 2)}).has_value());
  EXPECT_FALSE(add_up({{load_sample(100, 1)}, {}}, {load_sample(100, 2)}).has_value());
}

TEST(Mpi, TellsHowTheRanksDiffer) {
  const DeviceDescription device = testing::FakeDevice().description();
  const auto lines =
      describe_spread({reduce(device, {load_sample(100e9, 1)}, {}, LevelRule::Topology),
                       reduce(device, {load_sample(104e9, 1)}, {}, LevelRule::Topology)});
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_EQ(lines[0], "2 ranks; L1 GB/s per rank: 100 to 104");
}

}  // namespace
}  // namespace rooftile::characterize::mpi
