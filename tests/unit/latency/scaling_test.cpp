// SPDX-License-Identifier: Apache-2.0
#include "latency/scaling.h"

#include <gtest/gtest.h>

#include "ops/any_op.h"

namespace rooftile::latency {
namespace {

ScalingStudy make_study(const std::vector<ops::AnyOp>& operators) {
  const auto machine =
      hardware::load_machine(Catalog::embedded(), "v100-pcie-32gb", std::nullopt).value();
  std::vector<ScalingKernel> kernels;
  for (const ops::AnyOp& op : operators) {
    ops::KernelList works;
    ops::forward(op, {.precision = ops::precision_of(DType::Fp32)}, works);
    for (const ops::KernelWork& work : works) {
      const auto job = bind(work, machine).value();
      kernels.push_back(
          {.work = work,
           .count = 1,
           .machine = make_time_machine(machine, job.roof.compute, work.compute, work.matrix)});
    }
  }
  return {std::move(kernels), machine.gpu};
}

ops::AnyOp compute_bound() {
  return ops::Linear{.rows = 8192, .in = 8192, .out = 8192};
}
ops::AnyOp memory_bound() {
  return ops::Elementwise{.function = ops::Function::Add, .shape = {65536, 4096}};
}

TEST(Resource, NamesRoundTrip) {
  for (const Resource r : kAllResources) EXPECT_EQ(parse_resource(name_of(r)).value(), r);
  const auto wrong = parse_resource("dram_bv");
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().hint, "did you mean \"dram_bw\"?");
}

TEST(Scaling, EachKernelAnswersToItsOwnResource) {
  const ScalingStudy compute = make_study({compute_bound()});
  const ScalingStudy memory = make_study({memory_bound()});
  Factors dram;
  dram.set(Resource::DramBandwidth, 2);
  Factors clock;
  clock.set(Resource::Clock, 2);
  const auto speedup = [](const ScalingStudy& study, const Factors& factors) {
    return study.step(Factors{}).seconds / study.step(factors).seconds;
  };
  EXPECT_NEAR(speedup(memory, dram), 2.0, 0.05);
  EXPECT_NEAR(speedup(memory, clock), 1.0, 0.01);
  EXPECT_NEAR(speedup(compute, clock), 2.0, 0.1);
  EXPECT_NEAR(speedup(compute, dram), 1.0, 0.05);
  EXPECT_EQ(memory.step(Factors{}).bottleneck(), Bottleneck::Dram);
  EXPECT_EQ(compute.step(Factors{}).bottleneck(), Bottleneck::Compute);
}

TEST(Scaling, SharesAddUp) {
  const StepOutcome step = make_study({compute_bound(), memory_bound()}).step(Factors{});
  double sum = 0;
  for (const double share : step.share) sum += share;
  EXPECT_NEAR(sum, 1.0, 1e-12);
}

TEST(Scaling, BalancePointIsWhereTheGainEnds) {
  const ScalingStudy memory = make_study({memory_bound()});
  const BalancePoint dram = balance_point(memory, Resource::DramBandwidth);
  EXPECT_GT(dram.speedup, 1.5);
  EXPECT_GT(dram.factor, 1.5);
  const auto seconds = [&memory](double factor) {
    Factors factors;
    factors.set(Resource::DramBandwidth, factor);
    return memory.step(factors).seconds;
  };
  EXPECT_NEAR(dram.speedup, seconds(1) / seconds(dram.factor), 1e-9);
  if (dram.factor < 16) {
    EXPECT_LE(seconds(dram.factor), 1.05 * seconds(2 * dram.factor)) << "nothing beyond";
    EXPECT_GT(seconds(dram.factor / 1.19), 1.05 * seconds(2 * dram.factor / 1.19)) << "but before";
  }
  const BalancePoint alone = balance_point(memory, 0, Resource::DramBandwidth);
  EXPECT_EQ(alone.factor, dram.factor) << "a step of one kernel";
  EXPECT_EQ(balance_point(memory, Resource::L2Size).factor, 1.0);
}

TEST(Scaling, OptimumReachesTheTargetAndIsCheaperThanScalingAll) {
  const ScalingStudy study = make_study({compute_bound(), memory_bound()});
  const CostModel cost;
  const auto best = optimize(study, 2.0, cost);
  ASSERT_TRUE(best);
  EXPECT_GE(best->speedup, 2.0);
  Factors all;
  for (const Resource r : kAllResources) all.set(r, 2.0);
  EXPECT_LT(best->cost, cost.cost(all));
  EXPECT_EQ(best->factors.of(Resource::L2Size), 1.0) << "not needed here, so not paid for";
  EXPECT_FALSE(optimize(study, 1000.0, cost)) << "launches remain";
}

// Layers of a ResNet: no machine with other SMs, lanes and DRAM on the ladder alone is cheaper.
TEST(Scaling, NoMixOfComputeAndDramIsCheaperThanTheOptimum) {
  ops::ConvShape conv{.n = 64, .c = 64, .h = 56, .w = 56, .k = 64, .r = 3, .s = 3};
  conv.pad_h = conv.pad_w = 1;
  const ops::ConvShape point{.n = 64, .c = 1024, .h = 14, .w = 14, .k = 256};
  const ScalingStudy study =
      make_study({ops::Conv2d{.conv = conv}, ops::Conv2d{.conv = point},
                  ops::Elementwise{.function = ops::Function::Relu, .shape = {64 * 256, 56 * 56}}});
  const CostModel cost;
  const double base = study.step(Factors{}).seconds;
  for (const double target : {1.5, 2.0}) {
    double cheapest = 1e9;
    for (const double sms : {1.0, 1.1, 1.25, 1.5, 1.75, 2.0}) {
      for (const double lanes : {1.0, 1.1, 1.25, 1.5, 1.75, 2.0, 2.5}) {
        for (const double dram : {1.0, 1.1, 1.25, 1.5, 1.75, 2.0, 2.5}) {
          Factors f;
          f.set(Resource::Sms, sms);
          f.set(Resource::Lanes, lanes);
          f.set(Resource::DramBandwidth, dram);
          if (cost.cost(f) < cheapest && study.step(f).seconds <= base / target) {
            cheapest = cost.cost(f);
          }
        }
      }
    }
    const auto best = optimize(study, target, cost);
    ASSERT_TRUE(best);
    EXPECT_LE(best->cost, cheapest + 1e-9) << target;
  }
}

// 0.25 * (2 - 1) for DRAM; 0.30 * (8 - 1) for twice the clock.
TEST(CostModel, ClockCostsItsCube) {
  const CostModel cost;
  Factors factors;
  factors.set(Resource::DramBandwidth, 2);
  EXPECT_DOUBLE_EQ(cost.cost(factors), 0.25);
  factors.set(Resource::Clock, 2);
  EXPECT_DOUBLE_EQ(cost.cost(factors), 0.25 + 0.30 * 7);
}

}  // namespace
}  // namespace rooftile::latency
