// SPDX-License-Identifier: Apache-2.0
//
// What `rooftile fit` may change: the parameters of every form, with what a file may hold, where a
// fit starts, and whether rows decide it. A change here changes every later fit.
#include <gtest/gtest.h>

#include "cost/constants.h"
#include "cost/learned/weights.h"
#include "cost/stack_costs.h"
#include "regression/table.h"

namespace rooftile::cost {
namespace {

constexpr const char* kTable = "tests/regression/parameters.csv";

template <typename Form>
void add_form(const char* name, testing::Table& table) {
  for (const Parameter<Form>& p : parameters_of(Form())) {
    table.rows.push_back({name, p.name, p.unit, testing::number_text(p.low),
                          testing::number_text(p.high), testing::number_text(p.start),
                          p.fitted ? "fitted" : "assumed"});
  }
}

testing::Table parameters_now() {
  testing::Table table{.path = kTable,
                       .columns = {"form", "parameter", "unit", "low", "high", "start", "from"},
                       .rows = {}};
  add_form<ClockConstants>("clock", table);
  add_form<AttainedShares>("shares of DRAM", table);
  add_form<TimeConstants>("convolution", table);
  add_form<StepConstants>("step", table);
  add_form<LinkForm>("link", table);
  add_form<LinkShape>("links", table);
  add_form<NeighbourConstants>("neighbours", table);
  add_form<IntervalConstants>("intervals", table);
  add_form<learned::AttentionParameters>("attention", table);
  add_form<StackForm>("stack", table);
  add_form<OneShotForm>("one-shot all-reduce", table);
  return table;
}

TEST(Parameters, AreThoseOfTheTable) {
  testing::compare_whole_table(parameters_now());
}

/// A fit begins inside of what a file may hold.
TEST(Parameters, StartWithinTheirLimits) {
  const auto inside = []<typename Form>(const Form& form) {
    for (const Parameter<Form>& p : parameters_of(form)) {
      EXPECT_LE(p.low, p.start) << p.name;
      EXPECT_GE(p.high, p.start) << p.name;
    }
  };
  inside(ClockConstants());
  inside(AttainedShares());
  inside(TimeConstants());
  inside(StepConstants());
  inside(LinkForm());
  inside(LinkShape());
  inside(NeighbourConstants());
  inside(IntervalConstants());
  inside(learned::AttentionParameters());
  inside(StackForm());
  inside(OneShotForm());
}

}  // namespace
}  // namespace rooftile::cost
