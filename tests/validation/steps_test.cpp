// SPDX-License-Identifier: Apache-2.0
//
// Whole steps of language models against the measured ones of ../shared/data/steps, and the kernels
// of our graphs against traced nodes. The limits are what was promised, not what was reached: a
// change that crosses one has lost something that users were told.
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "calibration/nodes.h"
#include "calibration/steps.h"
#include "embedded_session.h"
#include "shared_data.h"

namespace rooftile {
namespace {

struct Limit {
  const char* group;
  double error;
};

TEST(StepLimits, AreKept) {
  const std::string file = "steps/cases.csv";
  if (!testing::has_shared_data(file)) GTEST_SKIP() << "no measured steps: " << file;
  const auto evaluation = testing::embedded_session().evaluate_steps(
      {.file = (testing::shared_data() / file).string()}, {});
  ASSERT_TRUE(evaluation) << to_string(evaluation.error());
  std::map<std::string, double> errors;
  for (const auto& summary : evaluation->summary) errors[summary.group] = summary.mean_error;
  for (const Limit& limit :
       {Limit{"source/pipeweave/decode", 0.10}, Limit{"source/pipeweave/prefill", 0.10},
        Limit{"source/gpt-fast/decode", 0.15}, Limit{"source/vtrain-single/train", 0.20}}) {
    ASSERT_TRUE(errors.contains(limit.group)) << limit.group;
    EXPECT_LE(errors[limit.group], limit.error) << limit.group;
  }
  // No prediction beats its bound, and none is faster than physics.
  for (const auto& one : evaluation->cases) {
    if (!one.skipped.empty()) continue;
    EXPECT_LE(one.bound_ms, one.low_ms * (1 + 1e-9)) << one.row.name;
    EXPECT_LE(one.low_ms, one.predicted_ms) << one.row.name;
  }
}

}  // namespace
}  // namespace rooftile
