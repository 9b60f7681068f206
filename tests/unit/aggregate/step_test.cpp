// SPDX-License-Identifier: Apache-2.0
#include "aggregate/step.h"

#include <gtest/gtest.h>

namespace rooftile::aggregate {
namespace {

OperatorEstimate op_of(double us, std::int64_t count, latency::Provenance provenance,
                       double factor) {
  OperatorEstimate op;
  op.kernel.count = count;
  op.kernel.memory_factor = factor;
  op.estimate.time = op.estimate.bound = Seconds::from_base(us * 1e-6);
  op.estimate.low = op.estimate.time * 0.8;
  op.estimate.high = op.estimate.time * 1.2;
  op.estimate.limiter = latency::Limiter::Dram;
  op.estimate.provenance = provenance;
  op.estimate = in_step(op.estimate, op.kernel);
  return op;
}

TEST(Step, ABoundHasNeitherGapsNorExcessBytes) {
  const StepEstimate step = step_time({op_of(100, 3, latency::Provenance::Bound, 2.0)});
  EXPECT_NEAR(to_us(step.total), 300.0, 1e-9);
  EXPECT_EQ(step.low, step.high);
}

TEST(Step, APredictionAddsExcessBytesAndGaps) {
  // (100 us x 1.5 + 3 us) x 2 launches
  const StepEstimate step = step_time({op_of(100, 2, latency::Provenance::Learned, 1.5)});
  EXPECT_NEAR(to_us(step.total), 306.0, 1e-9);
  EXPECT_NEAR(to_us(step.bound), 200.0, 1e-9);
  EXPECT_NEAR(to_us(step.of(latency::Limiter::Dram)), 306.0, 1e-9);
}

TEST(Step, KernelsThatAreNotLaunchedTakeNoTime) {
  const StepEstimate step = step_time({op_of(100, 2, latency::Provenance::Learned, 0.0)});
  EXPECT_EQ(step.total, Seconds{});
  EXPECT_EQ(step.bound, Seconds{});
}

TEST(Step, ManyShortKernelsTakeTheTimeOfTheHost) {
  // 1000 kernels of 1 us: GPU 1000 x (1 + 3) us, host 1000 x 7 us.
  const StepEstimate step = step_time({op_of(1, 1000, latency::Provenance::Learned, 1.0)});
  EXPECT_NEAR(to_us(step.total), 7000.0, 1e-6);
  EXPECT_NEAR(to_us(step.of(latency::Limiter::Launch)), 3000.0, 1e-6);
  EXPECT_NEAR(to_us(step.of(graph::Phase::Forward)), 7000.0, 1e-6);
}

TEST(Step, IntervalsAddUp) {
  const StepEstimate step = step_time({op_of(100, 1, latency::Provenance::Learned, 1.0),
                                       op_of(100, 99, latency::Provenance::Learned, 1.0)});
  // 1.2 x 100 us + 3 us, a hundred times: no square root of the number of kernels.
  EXPECT_NEAR(to_us(step.high), 12300.0, 1e-6);
}

}  // namespace
}  // namespace rooftile::aggregate
