// SPDX-License-Identifier: Apache-2.0
#include "aggregate/parallel.h"

#include <gtest/gtest.h>

#include <utility>

namespace rooftile::aggregate {
namespace {

using graph::Phase;

OperatorEstimate op_of(Phase phase, double ms, std::int64_t count) {
  OperatorEstimate op;
  op.kernel.name = "layer/x";
  op.kernel.phase = phase;
  op.kernel.count = count;
  op.estimate.time = op.estimate.low = op.estimate.high = Seconds::from_base(ms * 1e-3);
  op.estimate.bound = op.estimate.time * 0.5;
  op.estimate.provenance = latency::Provenance::Learned;
  return op;
}

/// A stage of two layers of 1 ms forward and 2 ms backward each, and an update of 1 ms.
StageEstimate stage_of(std::int64_t count, double gradient_megabytes) {
  StageEstimate stage;
  stage.step = step_time(
      {op_of(Phase::Forward, 1, 2), op_of(Phase::Backward, 2, 2), op_of(Phase::Optimizer, 1, 1)});
  stage.gradients = {
      {.block = 0, .repeat = 2, .bytes = Bytes::from_base(gradient_megabytes * 1e6)}};
  stage.count = count;
  return stage;
}

hardware::GroupLink link_of(double gigabytes) {
  return {.kind = hardware::LinkKind::Fabric,
          .name = "test",
          .per_direction = BytesPerSecond::from_base(gigabytes * 1e9)};
}

StepEstimate run(StageEstimate stage, const Parallelism& parallelism, const Interconnect& links) {
  std::vector<StageEstimate> stages;
  stages.push_back(std::move(stage));
  return parallel_step(std::move(stages), parallelism, links);
}

TEST(Parallel, OneGpuIsTheStepItself) {
  const StageEstimate stage = stage_of(1, 0);
  const StepEstimate step = run(stage, {}, {});
  EXPECT_EQ(step.total, stage.step.total);
  EXPECT_EQ(step.low, stage.step.low);
  EXPECT_EQ(step.communication, Seconds{});
  EXPECT_NEAR(to_ms(step.total), 7.0, 1e-9);
}

TEST(Parallel, MicrobatchesRepeatAllButTheUpdate) {
  // 3 x (2 + 4) ms + 1 ms
  const StepEstimate step = run(stage_of(1, 0), {.microbatches = 3}, {});
  EXPECT_NEAR(to_ms(step.total), 19.0, 1e-9);
  EXPECT_NEAR(to_ms(step.of(Phase::Optimizer)), 1.0, 1e-9);
  EXPECT_NEAR(to_ms(step.idle), 0.0, 1e-9);
  EXPECT_EQ(step.operators[0].kernel.count, 6);
  EXPECT_EQ(step.operators[2].kernel.count, 1);
}

TEST(Parallel, APipelineFillsAndDrains) {
  // 4 equal stages, 3 micro-batches, nothing to send: (4 + 2) x (2 + 4) ms + 1 ms. A GPU works for
  // 3 x 6 + 1 of the 37 ms.
  const StepEstimate step = run(stage_of(4, 0), {.pipeline = 4, .microbatches = 3},
                                {.data = {}, .tensor = {}, .pipeline = link_of(100)});
  EXPECT_NEAR(to_ms(step.total), 37.0, 1e-9);
  EXPECT_NEAR(to_ms(step.idle), 18.0, 1e-9);
}

TEST(Parallel, StagesSendBothWays) {
  StageEstimate first = stage_of(1, 0);
  first.output = Bytes::from_base(100e6);
  std::vector<StageEstimate> stages;
  stages.push_back(first);
  stages.push_back(stage_of(1, 0));
  const Interconnect links{.data = {}, .tensor = {}, .pipeline = link_of(100)};
  const StepEstimate step = parallel_step(std::move(stages), {.pipeline = 2}, links);
  const Seconds hop = send(Bytes::from_base(100e6), *links.pipeline).time;
  EXPECT_NEAR(to_ms(step.communication), 2 * to_ms(hop), 1e-9);
  EXPECT_NEAR(to_ms(step.total), 2 * 6 + 1 + 2 * to_ms(hop), 1e-9);
}

TEST(Parallel, FastLinksHideAllGradientsButTheLast) {
  const Interconnect links{.data = link_of(1000), .tensor = {}, .pipeline = {}};
  const StepEstimate step = run(stage_of(1, 100), {.data = 4}, links);
  const Seconds bucket = all_reduce(Bytes::from_base(100e6), 4, *links.data).time;
  ASSERT_LT(to_ms(bucket), 2.0);  // done before the next layer's backward pass
  EXPECT_NEAR(to_ms(step.communication), to_ms(bucket), 1e-9);
}

TEST(Parallel, SlowLinksExposeWhatTheBackwardPassCannotHide) {
  const Interconnect links{.data = link_of(10), .tensor = {}, .pipeline = {}};
  const StepEstimate step = run(stage_of(1, 100), {.data = 4}, links);
  const Seconds bucket = all_reduce(Bytes::from_base(100e6), 4, *links.data).time;
  ASSERT_GT(to_ms(bucket), 2.0);
  // The first bucket starts after 2 ms, both follow each other, the backward pass ends at 4 ms.
  EXPECT_NEAR(to_ms(step.communication), 2 + 2 * to_ms(bucket) - 4, 1e-9);
}

TEST(Parallel, SumsBetweenKernelsAreNotHidden) {
  StageEstimate stage = stage_of(1, 0);
  stage.reductions = {
      {.name = "layer/x", .phase = Phase::Forward, .count = 2, .bytes = Bytes::from_base(10e6)}};
  const Interconnect links{.data = {}, .tensor = link_of(100), .pipeline = {}};
  const StepEstimate step = run(stage, {.tensor = 2}, links);
  const Seconds sum = all_reduce(Bytes::from_base(10e6), 2, *links.tensor).time;
  EXPECT_NEAR(to_ms(step.communication), 2 * to_ms(sum), 1e-9);
  EXPECT_NEAR(to_ms(step.total), 7 + 2 * to_ms(sum), 1e-9);
  EXPECT_LE(step.bound, step.low);
  ASSERT_EQ(step.transfers.size(), 1U);
  EXPECT_EQ(step.transfers[0].count, 2);
}

TEST(Parallel, ABoundCountsTheLinksWithTheirBound) {
  StageEstimate stage = stage_of(1, 100);
  for (OperatorEstimate& op : stage.step.operators) {
    op.estimate.provenance = latency::Provenance::Bound;
    op.estimate.bound = op.estimate.time;
  }
  stage.step = step_time(std::move(stage.step.operators));
  const Interconnect links{.data = link_of(1000), .tensor = {}, .pipeline = {}};
  const StepEstimate step = run(stage, {.data = 2}, links);
  // 7 ms, and half of the last 100 MB at 1000 GB/s.
  EXPECT_NEAR(to_ms(step.total), 7.05, 1e-9);
  EXPECT_EQ(step.total, step.bound);
  EXPECT_EQ(step.low, step.high);
}

TEST(Parallel, APipelineKeepsTheActivationsOfAllMicrobatches) {
  MemoryEstimate small;
  small.weights = Bytes::from_base(10);
  small.activations = Bytes::from_base(1);
  MemoryEstimate large;
  large.weights = Bytes::from_base(5);
  large.activations = Bytes::from_base(4);
  EXPECT_EQ(fullest({small, large}, {.microbatches = 4}), small);
  const MemoryEstimate most = fullest({small, large}, {.pipeline = 2, .microbatches = 4});
  EXPECT_EQ(most.total(), Bytes::from_base(5 + 16));
}

}  // namespace
}  // namespace rooftile::aggregate
