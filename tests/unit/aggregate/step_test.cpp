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

OperatorEstimate op_of(double us, std::int64_t count, cost::Provenance provenance, double factor) {
  OperatorEstimate op;
  op.kernel.count = count;
  op.kernel.memory_factor = factor;
  op.estimate.time = op.estimate.bound = Seconds::from_base(us * 1e-6);
  op.estimate.low = op.estimate.time * 0.8;
  op.estimate.high = op.estimate.time * 1.2;
  op.estimate.breakdown.of(cost::Resource::Dram) = op.estimate.time;
  op.estimate.provenance = provenance;
  op.estimate = in_step(op.estimate, op.kernel, kConstants);
  return op;
}

TEST(Step, ABoundHasNeitherGapsNorExcessBytes) {
  const StepEstimate step = step_time({op_of(100, 3, cost::Provenance::Bound, 2.0)}, kConstants);
  EXPECT_NEAR(to_us(step.total), 300.0, 1e-9);
  EXPECT_EQ(step.low, step.high);
}

TEST(Step, APredictionAddsExcessBytesAndGaps) {
  // (100 us x 1.5 + 3 us) x 2 launches
  const StepEstimate step = step_time({op_of(100, 2, cost::Provenance::Learned, 1.5)}, kConstants);
  EXPECT_NEAR(to_us(step.total), 306.0, 1e-9);
  EXPECT_NEAR(to_us(step.bound), 200.0, 1e-9);
  EXPECT_NEAR(to_us(step.of(cost::Resource::Dram)), 306.0, 1e-9);
}

TEST(Step, BytesAreThoseThatTheKernelMoves) {
  // Otherwise half of the time with all of the bytes would be twice the bandwidth.
  cost::Estimate alone;
  alone.time = alone.low = alone.high = Seconds::from_base(1e-3);
  alone.provenance = cost::Provenance::Learned;
  alone.traffic.l1 = alone.traffic.l2 = Bytes::from_base(300);
  alone.traffic.dram_read = Bytes::from_base(200),
  alone.traffic.dram_written = Bytes::from_base(100);
  execution::Launch kernel;
  kernel.memory_factor = 0.5;
  const cost::Estimate half = in_step(alone, kernel, kConstants);
  EXPECT_EQ(half.traffic.l1, Bytes::from_base(150));
  EXPECT_EQ(half.traffic.l2, Bytes::from_base(150));
  EXPECT_EQ(half.traffic.dram(), Bytes::from_base(150));
  kernel.memory_factor = 2;
  EXPECT_EQ(in_step(alone, kernel, kConstants).traffic.dram(), Bytes::from_base(600));
  kernel.memory_factor = 1.35;
  kernel.work.kind = ops::KernelClass::Move;
  EXPECT_EQ(in_step(alone, kernel, kConstants).traffic, alone.traffic)
      << "the same bytes at a lower rate";
}

TEST(Step, KernelsThatAreNotLaunchedTakeNoTime) {
  const StepEstimate step = step_time({op_of(100, 2, cost::Provenance::Learned, 0.0)}, kConstants);
  EXPECT_EQ(step.total, Seconds{});
  EXPECT_EQ(step.bound, Seconds{});
}

TEST(Step, ManyShortKernelsTakeTheTimeOfTheHost) {
  // 1000 kernels of 1 us: GPU 1000 x (1 + 3) us, host 1000 x 7 us.
  const StepEstimate step = step_time({op_of(1, 1000, cost::Provenance::Learned, 1.0)}, kConstants);
  EXPECT_NEAR(to_us(step.total), 7000.0, 1e-6);
  EXPECT_NEAR(to_us(step.parts.host), 3000.0, 1e-6);
  EXPECT_NEAR(to_us(step.of(execution::Phase::Forward)), 7000.0, 1e-6);
}

TEST(Step, LaunchesOfOneOperatorAreWrongTogether) {
  const StepEstimate step =
      step_time({op_of(100, 100, cost::Provenance::Learned, 1.0)}, kConstants);
  // 1.2 x 100 us + 3 us, a hundred times: no square root of the number of launches.
  EXPECT_NEAR(to_us(step.high), 12300.0, 1e-6);
}

TEST(Step, OperatorsArePartlyWrongTogether) {
  // Two operators of +-2000 us: sqrt(rho 4000^2 + (1 - rho) 2 x 2000^2) above the sum.
  const StepEstimate step = step_time({op_of(100, 100, cost::Provenance::Learned, 1.0),
                                       op_of(100, 100, cost::Provenance::Learned, 1.0)},
                                      kConstants);
  const double rho = kConstants.error_correlation;
  EXPECT_NEAR(to_us(step.high - step.total), 1000 * std::sqrt(rho * 16 + (1 - rho) * 8), 1e-6);
}

TEST(Step, IntervalsDoNotVanishWithManyOperators) {
  std::vector<OperatorEstimate> many(10000, op_of(100, 1, cost::Provenance::Learned, 1.0));
  const StepEstimate step = step_time(std::move(many), kConstants);
  // sqrt(rho) of +-20 us each remains.
  EXPECT_GT(to_us(step.high - step.total), 10000 * 20 * std::sqrt(kConstants.error_correlation));
  EXPECT_LE(step.bound, step.low);
}

}  // namespace
}  // namespace rooftile::aggregate
