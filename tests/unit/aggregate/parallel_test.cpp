// SPDX-License-Identifier: Apache-2.0
#include "aggregate/parallel.h"

#include <gtest/gtest.h>

#include <utility>

namespace rooftile::aggregate {
namespace {

constexpr cost::StepConstants kSteps{
    .gap = 3e-6, .host_launch = 7e-6, .host_spread = 1.3, .error_correlation = 0.2};
constexpr cost::LinkForm kLink{
    .efficiency = 0.85, .start = 5e-6, .step = 0.75e-6, .ramp = 4e6, .spread = 1.2};
constexpr cost::LinkConstants kLinks{
    .fabric = kLink, .pcie = kLink, .shape = {.ramp_exponent = 0.4, .network_spread = 1.5}};

using execution::Phase;

OperatorEstimate op_of(Phase phase, double ms, std::int64_t count) {
  OperatorEstimate op;
  op.kernel.name = "layer/x";
  op.kernel.phase = phase;
  op.kernel.count = count;
  op.estimate.time = op.estimate.low = op.estimate.high = Seconds::from_base(ms * 1e-3);
  op.estimate.bound = op.estimate.time * 0.5;
  op.estimate.provenance = cost::Provenance::Learned;
  return op;
}

/// A stage of two layers of 1 ms forward and 2 ms backward each, and an update of 1 ms.
StageEstimate stage_of(std::int64_t count, double gradient_megabytes) {
  StageEstimate stage;
  stage.step = step_time(
      {op_of(Phase::Forward, 1, 2), op_of(Phase::Backward, 2, 2), op_of(Phase::Optimizer, 1, 1)},
      step_costs(kSteps));
  stage.gradients = {
      {.block = 0, .repeat = 2, .bytes = Bytes::from_base(gradient_megabytes * 1e6)}};
  stage.count = count;
  return stage;
}

hardware::GroupLink link_of(double gigabytes) {
  return {.kind = hardware::LinkKind::Fabric,
          .name = "test",
          .per_direction = BytesPerSecond::from_base(gigabytes * 1e9),
          .in_node = 4};
}

/// kernels + communication - hidden + host + idle
Seconds sum_of(const StepParts& parts) {
  return parts.kernels + parts.communication - parts.hidden + parts.host + parts.idle;
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
  EXPECT_EQ(step.parts.communication, Seconds{});
  EXPECT_EQ(step.parts.kernels, step.total);
  EXPECT_NEAR(to_ms(step.total), 7.0, 1e-9);
}

TEST(Parallel, MicrobatchesRepeatAllButTheUpdate) {
  // 3 x (2 + 4) ms + 1 ms
  const StepEstimate step = run(stage_of(1, 0), {.microbatches = 3}, {});
  EXPECT_NEAR(to_ms(step.total), 19.0, 1e-9);
  EXPECT_NEAR(to_ms(step.of(Phase::Optimizer)), 1.0, 1e-9);
  EXPECT_EQ(step.parts.idle, Seconds{});
  EXPECT_NEAR(to_ms(sum_of(step.parts)), 19.0, 1e-9);
  EXPECT_EQ(step.operators[0].kernel.count, 6);
  EXPECT_EQ(step.operators[2].kernel.count, 1);
}

TEST(Parallel, APipelineFillsAndDrains) {
  // 4 equal stages, 3 micro-batches, nothing to send: (4 + 2) x (2 + 4) ms + 1 ms. A GPU works for
  // 3 x 6 + 1 of the 37 ms.
  const StepEstimate step = run(stage_of(4, 0), {.pipeline = 4, .microbatches = 3},
                                {.data = {}, .tensor = {}, .pipeline = {3, link_of(100)}});
  EXPECT_NEAR(to_ms(step.total), 37.0, 1e-9);
  EXPECT_NEAR(to_ms(step.parts.kernels), 19.0, 1e-9);
  EXPECT_NEAR(to_ms(step.parts.idle), 18.0, 1e-9);
}

TEST(Parallel, StagesSendBothWays) {
  StageEstimate first = stage_of(1, 0);
  first.output = Bytes::from_base(100e6);
  std::vector<StageEstimate> stages;
  stages.push_back(first);
  stages.push_back(stage_of(1, 0));
  const Interconnect links{
      .data = {}, .tensor = {}, .pipeline = {link_of(100)}, .constants = kLinks};
  const Seconds hop = send(Bytes::from_base(100e6), 1, links.pipeline[0], kLinks).time;
  const StepEstimate step = parallel_step(stages, {.pipeline = 2}, links);
  EXPECT_NEAR(to_ms(step.total), 2 * 6 + 1 + 2 * to_ms(hop), 1e-9);
  // One message each way for two GPUs; while one sends, the other one waits.
  EXPECT_NEAR(to_ms(step.parts.communication), to_ms(hop), 1e-9);
  EXPECT_EQ(step.parts.hidden, Seconds{});
  EXPECT_NEAR(to_ms(step.parts.idle), 6 + to_ms(hop), 1e-9);
  EXPECT_NEAR(to_ms(sum_of(step.parts)), to_ms(step.total), 1e-9);
  // Of eight micro-batches all messages but the first hide behind the next one's kernels.
  ASSERT_LT(to_ms(hop), 2.0);
  const StepEstimate eight = parallel_step(stages, {.pipeline = 2, .microbatches = 8}, links);
  EXPECT_NEAR(to_ms(eight.total), 9 * 6 + 1 + 2 * to_ms(hop), 1e-9);
  EXPECT_NEAR(to_ms(eight.parts.communication), 8 * to_ms(hop), 1e-9);
  EXPECT_NEAR(to_ms(eight.parts.exposed()), 2 * to_ms(hop), 1e-9);
  EXPECT_NEAR(to_ms(sum_of(eight.parts)), to_ms(eight.total), 1e-9);
}

TEST(Parallel, AMessageSlowerThanTheStagesSetsThePace) {
  StageEstimate first = stage_of(1, 0);
  first.output = Bytes::from_base(100e6);
  std::vector<StageEstimate> stages{first, stage_of(1, 0)};
  const Interconnect links{.data = {}, .tensor = {}, .pipeline = {link_of(1)}, .constants = kLinks};
  const double hop = to_ms(send(Bytes::from_base(100e6), 1, links.pipeline[0], kLinks).time);
  ASSERT_GT(hop, 100.0);
  // Forward 2 x 2 ms and four messages, backward 2 x 4 ms and four messages, 1 ms.
  const StepEstimate step = parallel_step(stages, {.pipeline = 2, .microbatches = 4}, links);
  EXPECT_NEAR(to_ms(step.total), 12 + 8 * hop + 1, 1e-9);
  EXPECT_LE(step.parts.communication, step.total);
  EXPECT_NEAR(to_ms(sum_of(step.parts)), to_ms(step.total), 1e-9);
}

TEST(Parallel, StagesInOneNodeDoNotUseTheNetwork) {
  // Three equal stages, the border between the last two is one of nodes.
  StageEstimate stage = stage_of(2, 0);
  stage.output = Bytes::from_base(100e6);
  std::vector<StageEstimate> stages{stage, stage_of(1, 0)};
  hardware::GroupLink outside = link_of(100);
  outside.in_node = 1;
  outside.network = hardware::NetworkShare{.name = "net",
                                           .per_direction = BytesPerSecond::from_base(10e9),
                                           .at_most = BytesPerSecond::from_base(10e9)};
  const Interconnect links{
      .data = {}, .tensor = {}, .pipeline = {link_of(100), outside}, .constants = kLinks};
  const StepEstimate step = parallel_step(stages, {.pipeline = 3}, links);
  const Bytes bytes = Bytes::from_base(100e6);
  const double hops =
      to_ms(send(bytes, 1, links.pipeline[0], kLinks).time + send(bytes, 1, outside, kLinks).time);
  EXPECT_NEAR(to_ms(step.total), 3 * 6 + 1 + 2 * hops, 1e-9);
  EXPECT_EQ(step.transfers.size(), 4U);  // two links, two ways
}

TEST(Parallel, TheHostIsAPartOfItsOwn) {
  // Ten kernels of 2 us that the host launches in 7 us: 5 us of waiting before all but the first.
  StageEstimate stage;
  stage.step = step_time({op_of(Phase::Forward, 0.002, 10)}, step_costs(kSteps));
  EXPECT_NEAR(to_us(stage.step.parts.kernels), 20.0, 1e-9);
  EXPECT_NEAR(to_us(stage.step.parts.host), 45.0, 1e-9);
  EXPECT_NEAR(to_us(stage.step.total), 65.0, 1e-9);
  const StepEstimate step = run(stage, {.microbatches = 3}, {});
  EXPECT_NEAR(to_us(step.parts.kernels), 60.0, 1e-9);
  EXPECT_NEAR(to_us(step.parts.host), 135.0, 1e-9);
  EXPECT_NEAR(to_us(sum_of(step.parts)), to_us(step.total), 1e-9);
}

TEST(Parallel, FastLinksHideAllGradientsButTheLast) {
  const Interconnect links{
      .data = link_of(1000), .tensor = {}, .pipeline = {}, .constants = kLinks};
  const StepEstimate step = run(stage_of(1, 100), {.data = 4}, links);
  const Seconds bucket = all_reduce(Bytes::from_base(100e6), 4, *links.data, kLinks).time;
  ASSERT_LT(to_ms(bucket), 2.0);  // done before the next layer's backward pass
  EXPECT_NEAR(to_ms(step.parts.communication), 2 * to_ms(bucket), 1e-9);
  EXPECT_NEAR(to_ms(step.parts.exposed()), to_ms(bucket), 1e-9);
  ASSERT_EQ(step.transfers.size(), 1U);
  EXPECT_NEAR(step.transfers[0].hidden_fraction, 0.5, 1e-9);
}

TEST(Parallel, SlowLinksExposeWhatTheBackwardPassCannotHide) {
  const Interconnect links{.data = link_of(10), .tensor = {}, .pipeline = {}, .constants = kLinks};
  const StepEstimate step = run(stage_of(1, 100), {.data = 4}, links);
  const Seconds bucket = all_reduce(Bytes::from_base(100e6), 4, *links.data, kLinks).time;
  ASSERT_GT(to_ms(bucket), 2.0);
  // The first bucket starts after 2 ms, both follow each other, the backward pass ends at 4 ms.
  EXPECT_NEAR(to_ms(step.parts.exposed()), 2 + 2 * to_ms(bucket) - 4, 1e-9);
  EXPECT_NEAR(to_ms(sum_of(step.parts)), to_ms(step.total), 1e-9);
}

TEST(Parallel, SumsBetweenKernelsAreNotHidden) {
  StageEstimate stage = stage_of(1, 0);
  stage.reductions = {
      {.name = "layer/x", .phase = Phase::Forward, .count = 2, .bytes = Bytes::from_base(10e6)}};
  const Interconnect links{.data = {}, .tensor = link_of(100), .pipeline = {}, .constants = kLinks};
  const StepEstimate step = run(stage, {.tensor = 2}, links);
  const Seconds sum = all_reduce(Bytes::from_base(10e6), 2, *links.tensor, kLinks).time;
  EXPECT_NEAR(to_ms(step.parts.communication), 2 * to_ms(sum), 1e-9);
  EXPECT_EQ(step.parts.hidden, Seconds{});
  EXPECT_NEAR(to_ms(step.total), 7 + 2 * to_ms(sum), 1e-9);
  EXPECT_LE(step.bound, step.low);
  ASSERT_EQ(step.transfers.size(), 1U);
  EXPECT_EQ(step.transfers[0].count, 2);
}

TEST(Parallel, ABoundCountsTheLinksWithTheirBound) {
  StageEstimate stage = stage_of(1, 100);
  for (OperatorEstimate& op : stage.step.operators) {
    op.estimate.provenance = cost::Provenance::Bound;
    op.estimate.bound = op.estimate.time;
  }
  stage.step = step_time(std::move(stage.step.operators), step_costs(kSteps));
  const Interconnect links{
      .data = link_of(1000), .tensor = {}, .pipeline = {}, .constants = kLinks};
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
  large.kept = Bytes::from_base(3);
  EXPECT_EQ(fullest({small, large}, {.microbatches = 4}), small);
  // The last one at its peak, three more that wait for their backward pass.
  const MemoryEstimate most = fullest({small, large}, {.pipeline = 2, .microbatches = 4});
  EXPECT_EQ(most.total(), Bytes::from_base(5 + 4 + 3 * 3));
}

TEST(Parallel, TheCachesOfAllMicrobatchesStay) {
  MemoryEstimate stage;
  stage.activations = Bytes::from_base(10);
  stage.kv_cache = Bytes::from_base(2);
  EXPECT_EQ(fullest({stage}, {.pipeline = 2, .microbatches = 4}).total(), Bytes::from_base(10 + 8));
  EXPECT_EQ(fullest({stage}, {.microbatches = 4}).total(), Bytes::from_base(10 + 8));
}

}  // namespace
}  // namespace rooftile::aggregate
