// SPDX-License-Identifier: Apache-2.0
#include "aggregate/timeline.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace rooftile::aggregate {
namespace {

constexpr double kUs = 1e-6;

HostCosts host_of(double launch, double sync, double step) {
  return {.launch = Seconds::from_base(launch * kUs),
          .sync = Seconds::from_base(sync * kUs),
          .step = Seconds::from_base(step * kUs)};
}

execution::Launch launch_of(std::int64_t count, std::int64_t repeat, bool waits) {
  execution::Launch launch;
  launch.count = count;
  launch.repeat = repeat;
  launch.waits = waits;
  return launch;
}

double total_us(const Timeline& timeline) {
  return timeline.total().base() / kUs;
}

TEST(Timeline, LongKernelsHideTheHost) {
  Timeline timeline(host_of(7, 0, 0));
  timeline.add(launch_of(10, 10, false), Seconds::from_base(100 * kUs));
  EXPECT_NEAR(total_us(timeline), 1000, 1e-9);
}

TEST(Timeline, ShortKernelsWaitForTheHost) {
  Timeline timeline(host_of(7, 0, 0));
  timeline.add(launch_of(10, 10, false), Seconds::from_base(2 * kUs));
  EXPECT_NEAR(total_us(timeline), 9 * 7 + 2, 1e-9);
}

// A long kernel gives the host a lead that the short ones behind it use up: less than the sum of
// the two halves by themselves, which one maximum per step cannot say.
TEST(Timeline, ALeadIsUsedUp) {
  Timeline timeline(host_of(7, 0, 0));
  timeline.add(launch_of(1, 1, false), Seconds::from_base(100 * kUs));
  execution::Launch short_ones = launch_of(20, 1, false);
  short_ones.block = 1;
  timeline.add(short_ones, Seconds::from_base(2 * kUs));
  // The host is done with launch 21 at 20 x 7 us after the first kernel began.
  EXPECT_NEAR(total_us(timeline), 20 * 7 + 2, 1e-9);
}

TEST(Timeline, WaitingCostsTheLaunchEveryTime) {
  Timeline timeline(host_of(7, 5, 0));
  timeline.add(launch_of(3, 1, true), Seconds::from_base(100 * kUs));
  // kernel, wait, launch, kernel, wait, launch, kernel
  EXPECT_NEAR(total_us(timeline), 3 * 100 + 2 * (5 + 7), 1e-9);
}

TEST(Timeline, TheStepComesOnTop) {
  Timeline timeline(host_of(0, 0, 300));
  timeline.add(launch_of(1, 1, false), Seconds::from_base(100 * kUs));
  EXPECT_NEAR(total_us(timeline), 400, 1e-9);
}

// The closed form is the loop that it stands for.
TEST(Timeline, RepetitionsAreThoseOfALoop) {
  const std::vector<double> kernels{3, 40, 1, 2, 9};
  const double launch = 6, sync = 4;
  for (const std::int64_t repeat : {1, 2, 7, 96}) {
    Timeline timeline(host_of(launch, sync, 0));
    for (std::size_t i = 0; i < kernels.size(); ++i)
      timeline.add(launch_of(2 * repeat, repeat, i == 2), Seconds::from_base(kernels[i] * kUs));
    double host = -launch, device = 0;
    for (std::int64_t r = 0; r < repeat; ++r) {
      for (std::size_t i = 0; i < kernels.size(); ++i) {
        for (int twice = 0; twice < 2; ++twice) {
          host += launch;
          device = std::max(device, host) + kernels[i];
          if (i == 2) host = std::max(host, device) + sync;
        }
      }
    }
    EXPECT_NEAR(total_us(timeline), device, 1e-6) << repeat;
  }
}

}  // namespace
}  // namespace rooftile::aggregate
