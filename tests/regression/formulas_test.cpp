// SPDX-License-Identifier: Apache-2.0
//
// Every formula that makes FLOPs and bytes of counters, against a committed table: a factor, a
// counter or a generation that changes shows here.
#include "profile/formula.h"

#include "regression/table.h"

namespace rooftile::profile {
namespace {

constexpr const char* kTable = "tests/regression/formulas.csv";

testing::Table table_now() {
  testing::Table table{
      .path = kTable,
      .columns = {"quantity", "choice", "scale", "required", "on", "factor", "counter"},
      .rows = {}};
  constexpr std::array kScales{"", "time", "clock x time"};
  for (const Quantity quantity : kQuantities) {
    int choice = 0;
    for (const Formula& formula : formulas(quantity)) {
      ++choice;
      for (const Term& term : formula.terms) {
        table.rows.push_back({std::string(name_of(quantity)), std::to_string(choice),
                              kScales[static_cast<std::size_t>(formula.scale)],
                              std::to_string(formula.required), std::string(name_of(formula.on)),
                              testing::number_text(term.factor), std::string(term.metric)});
      }
    }
  }
  return table;
}

TEST(Formulas, AreThoseOfTheTable) {
  testing::compare_whole_table(table_now());
}

/// Whoever writes such a table down should know: a fused multiply-add is two operations.
TEST(Formulas, FusedMultiplyAddsCountTwice) {
  for (const Quantity quantity : {Quantity::Fp64, Quantity::Fp32, Quantity::Fp16}) {
    for (const Formula& formula : formulas(quantity)) {
      for (const Term& fused : formula.terms) {
        const std::size_t at = fused.metric.find("fma");
        if (at == std::string_view::npos || fused.metric.find("_x2") != std::string_view::npos ||
            fused.metric.find("_x4") != std::string_view::npos) {
          continue;  // the derived counters hold the factor
        }
        std::string add(fused.metric);
        add.replace(at, 3, "add");
        for (const Term& term : formula.terms) {
          if (term.metric != add) continue;
          EXPECT_EQ(fused.factor, 2 * term.factor) << fused.metric;
        }
      }
    }
  }
}

}  // namespace
}  // namespace rooftile::profile
