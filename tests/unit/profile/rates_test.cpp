// SPDX-License-Identifier: Apache-2.0
#include "profile/rates.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>

namespace rooftile::profile {
namespace {

KernelSeries kernel(std::string metric, double value) {
  return {
      .name = "k",
      .columns = {{.metric = std::move(metric), .values = {value}, .weights = {}, .missing = 0}},
      .grid = {},
      .block = {},
      .launch_list = {},
      .rows = 1};
}

TEST(Rates, AreWhatTheExportStatesPerSecond) {
  const Counting counting = counting_of(Catalog::embedded(), "8.0").value();
  const auto found = rates_of(kernel("l1tex__t_bytes.sum.per_second", 3e12), counting);
  ASSERT_TRUE(found);
  ASSERT_TRUE(found->rates.bytes[0]);
  EXPECT_DOUBLE_EQ(found->rates.bytes[0]->base(), 3e12);
  EXPECT_FALSE(found->rates.bytes[1]);
}

TEST(Rates, CountsAreNotRates) {
  const Counting counting = counting_of(Catalog::embedded(), "8.0").value();
  for (const char* count : {"l1tex__t_bytes.sum", "l1tex__t_sectors.sum", "flop_count_sp.sum"}) {
    EXPECT_FALSE(rates_of(kernel(count, 1e9), counting)) << count;
  }
}

}  // namespace
}  // namespace rooftile::profile
