// SPDX-License-Identifier: Apache-2.0
#include "app/conv_refit.h"

#include <gtest/gtest.h>

#include <cmath>

#include "app/validate_times.h"

namespace rooftile::app {
namespace {

using latency::TimeConstants;

// A bowl with its lowest point at three known constants: found to the last step of 3 %, whatever
// the shipped values are.
TEST(RefitConstants, FindsTheLowestPoint) {
  const auto distance = [](const TimeConstants& c) {
    return std::abs(std::log(c.prologue / 1700)) + std::abs(std::log(c.watt_28nm / 61)) +
           std::abs(std::log(c.filter_gradient / 0.7));
  };
  const TimeConstants found = refit_constants(distance);
  EXPECT_NEAR(found.prologue / 1700, 1.0, 0.035);
  EXPECT_NEAR(found.watt_28nm / 61, 1.0, 0.035);
  EXPECT_NEAR(found.filter_gradient / 0.7, 1.0, 0.035);
}

TEST(ValidateTimes, MissingFileIsAnError) {
  const auto table = validate_times({.file = "no/such/conv.csv"}, Catalog::embedded(), {});
  ASSERT_FALSE(table);
  EXPECT_NE(table.error().where.find("conv.csv"), std::string::npos);
}

}  // namespace
}  // namespace rooftile::app
