// SPDX-License-Identifier: Apache-2.0
#include "aggregate/step.h"

#include <gtest/gtest.h>

#include <cmath>
#include <utility>
#include <vector>

namespace rooftile::aggregate {
namespace {

constexpr cost::StepConstants kConstants{
    .gap = 3e-6, .host_launch = 7e-6, .host_spread = 1.3, .error_correlation = 0.2};

OperatorEstimate op_of(double us, std::int64_t count, cost::Provenance provenance) {
  OperatorEstimate op;
  op.kernel.count = count;
  op.estimate.time = op.estimate.bound = Seconds::from_base(us * 1e-6);
  op.estimate.low = op.estimate.time * 0.8;
  op.estimate.high = op.estimate.time * 1.2;
  op.estimate.breakdown.of(cost::Resource::Dram) = op.estimate.time;
  op.estimate.provenance = provenance;
  return op;
}

TEST(Step, ABoundHasNoHost) {
  OperatorEstimate op = op_of(1, 3, cost::Provenance::Bound);
  op.estimate.low = op.estimate.high = op.estimate.time;
  const StepEstimate step = step_time({op}, step_costs(kConstants));
  EXPECT_NEAR(to_us(step.total), 3.0, 1e-9);
  EXPECT_EQ(step.low, step.high);
}

TEST(Step, LaunchesAddUp) {
  const StepEstimate step =
      step_time({op_of(100, 2, cost::Provenance::Learned)}, step_costs(kConstants));
  EXPECT_NEAR(to_us(step.total), 200.0, 1e-9);
  EXPECT_NEAR(to_us(step.bound), 200.0, 1e-9);
  EXPECT_NEAR(to_us(step.of(cost::Resource::Dram)), 200.0, 1e-9);
}

TEST(Step, ManyShortKernelsTakeTheTimeOfTheHost) {
  // 1000 kernels of 4 us: GPU 4000 us; the host needs 7 us for each behind the first.
  const StepEstimate step =
      step_time({op_of(4, 1000, cost::Provenance::Learned)}, step_costs(kConstants));
  EXPECT_NEAR(to_us(step.total), 999 * 7.0 + 4, 1e-6);
  EXPECT_NEAR(to_us(step.parts.host), 999 * 7.0 + 4 - 4000, 1e-6);
  EXPECT_NEAR(to_us(step.of(execution::Phase::Forward)), 999 * 7.0 + 4, 1e-6);
}

TEST(Step, LaunchesOfOneOperatorAreWrongTogether) {
  const StepEstimate step =
      step_time({op_of(100, 100, cost::Provenance::Learned)}, step_costs(kConstants));
  // 1.2 x 100 us, a hundred times: no square root of the number of launches.
  EXPECT_NEAR(to_us(step.high), 12000.0, 1e-6);
}

TEST(Step, OperatorsArePartlyWrongTogether) {
  // Two operators of +-2000 us: sqrt(rho 4000^2 + (1 - rho) 2 x 2000^2) above the sum.
  const StepEstimate step = step_time(
      {op_of(100, 100, cost::Provenance::Learned), op_of(100, 100, cost::Provenance::Learned)},
      step_costs(kConstants));
  const double rho = kConstants.error_correlation;
  EXPECT_NEAR(to_us(step.high - step.total), 1000 * std::sqrt(rho * 16 + (1 - rho) * 8), 1e-6);
}

TEST(Step, IntervalsDoNotVanishWithManyOperators) {
  std::vector<OperatorEstimate> many(10000, op_of(100, 1, cost::Provenance::Learned));
  const StepEstimate step = step_time(std::move(many), step_costs(kConstants));
  // sqrt(rho) of +-20 us each remains.
  EXPECT_GT(to_us(step.high - step.total), 10000 * 20 * std::sqrt(kConstants.error_correlation));
  EXPECT_LE(step.bound, step.low);
}

}  // namespace
}  // namespace rooftile::aggregate
