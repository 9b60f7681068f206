// SPDX-License-Identifier: Apache-2.0
#include "cost/learned/weights.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace rooftile::cost::learned {
namespace {

/// Every number of the lists has a start inside its limits: a fit can begin, and be read again.
template <Listed Form>
void check_list() {
  for (const Parameter<Form>& p : parameters_of(Form())) {
    EXPECT_GE(p.start, p.low) << p.name;
    EXPECT_LE(p.start, p.high) << p.name;
    EXPECT_NE(std::string_view(p.unit), "") << p.name;
    EXPECT_NE(std::string_view(p.doc), "") << p.name;
    EXPECT_TRUE(!p.fitted || p.start > 0) << p.name << ": descents multiply";
  }
}

TEST(Parameters, BeginInsideOfTheirLimits) {
  check_list<ClockConstants>();
  check_list<AttainedShares>();
  check_list<TimeConstants>();
  check_list<NeighbourConstants>();
  check_list<IntervalConstants>();
  check_list<StepConstants>();
  check_list<LinkForm>();
  check_list<LinkShape>();
}

TEST(Weights, RefusesOtherUnitsAndLimits) {
  const std::string text = to_json(read_default(Catalog::embedded()).value());
  const auto with = [&text](const std::string& from, const std::string& to) {
    std::string changed = text;
    changed.replace(changed.find(from), from.size(), to);
    return parse_weights(changed, "x.json");
  };
  const auto units = with("\"gap\": \"s\"", "\"gap\": \"ms\"");
  ASSERT_FALSE(units);
  EXPECT_EQ(units.error().where, "x.json:/units");
  const auto limits = with("\"gap\": 3e-06", "\"gap\": 3");
  ASSERT_FALSE(limits);
  EXPECT_EQ(limits.error().where, "x.json:/constants/step/gap");
}

}  // namespace
}  // namespace rooftile::cost::learned
