// SPDX-License-Identifier: Apache-2.0
#include "aggregate/scaling.h"

#include <gtest/gtest.h>

#include <cmath>

#include "ops/any_op.h"

namespace rooftile::aggregate {
namespace {

using hardware::Factors;
using hardware::MachineKey;

const cost::Predictor& predictor() {
  static const auto kDefault = cost::make_predictor({}, Catalog::embedded()).value();
  return *kDefault;
}

hardware::Machine v100() {
  return hardware::load_machine(Catalog::embedded(), "v100-pcie-32gb", std::nullopt).value();
}

ScalingStudy make_study(const std::vector<ops::AnyOp>& operators) {
  std::vector<execution::Launch> kernels;
  for (const ops::AnyOp& op : operators) {
    ops::KernelList works;
    ops::forward(op, {.precision = ops::precision_of(DType::Fp32)}, works);
    for (const ops::KernelWork& work : works) kernels.push_back({.name = work.op, .work = work});
  }
  return ScalingStudy::make(kernels, v100(), predictor(),
                            {.step = step_costs(predictor().constants().step)})
      .value();
}

ops::AnyOp compute_bound() {
  return ops::Linear{.rows = 8192, .in = 8192, .out = 8192};
}
ops::AnyOp memory_bound() {
  return ops::Elementwise{.function = ops::Function::Add, .shape = {65536, 4096}};
}

// The study starts from the forecast: the same sums of the same estimates.
TEST(Scaling, BaseIsTheStep) {
  const ScalingStudy study = make_study({compute_bound(), memory_bound(), compute_bound()});
  EXPECT_EQ(study.kernels().size(), 2U) << "equal kernels are merged";
  std::vector<OperatorEstimate> operators;
  for (const execution::Launch& kernel : study.kernels()) {
    const auto job = cost::bind(kernel.work, v100()).value();
    operators.push_back({kernel, predictor().estimate(job, v100())});
  }
  const StepEstimate step = step_time(operators, step_costs(predictor().constants().step));
  EXPECT_DOUBLE_EQ(study.step({}).total.base(), step.total.base());
  EXPECT_EQ(study.step({}).by_limiter, step.by_limiter);
}

TEST(Scaling, EachKernelAnswersToItsOwnResource) {
  const ScalingStudy compute = make_study({compute_bound()});
  const ScalingStudy memory = make_study({memory_bound()});
  const Factors dram = Factors::one(MachineKey::DramBandwidth, 2);
  const Factors clock = Factors::one(MachineKey::Clock, 2);
  const auto speedup = [](const ScalingStudy& study, const Factors& factors) {
    return study.step({}).total / study.step(factors).total;
  };
  EXPECT_NEAR(speedup(memory, dram), 2.0, 0.05);
  EXPECT_NEAR(speedup(memory, clock), 1.0, 0.01);
  EXPECT_NEAR(speedup(compute, clock), 2.0, 0.1);
  EXPECT_NEAR(speedup(compute, dram), 1.0, 0.05);
  EXPECT_EQ(memory.kernel(0, {}).limiter(), hardware::Resource::Dram);
  EXPECT_EQ(compute.kernel(0, {}).limiter(), hardware::Resource::Compute);
}

TEST(Scaling, BalancePointIsWhereTheGainEnds) {
  const ScalingStudy memory = make_study({memory_bound()});
  const BalancePoints points = balance_points(memory);
  const auto at = [](const auto& list, MachineKey key) {
    return list[static_cast<std::size_t>(key)];
  };
  const BalancePoint dram = at(points.step, MachineKey::DramBandwidth);
  EXPECT_GT(dram.speedup, 1.5);
  EXPECT_GT(dram.factor, 1.5);
  const auto seconds = [&memory](double factor) {
    return memory.step(Factors::one(MachineKey::DramBandwidth, factor)).total.base();
  };
  EXPECT_NEAR(dram.speedup, seconds(1) / seconds(dram.factor), 1e-9);
  EXPECT_NEAR(dram.speedup_at_2x, seconds(1) / seconds(2), 1e-9);
  if (dram.factor < 16) {
    EXPECT_LE(seconds(dram.factor), 1.05 * seconds(2 * dram.factor)) << "nothing beyond";
    EXPECT_GT(seconds(dram.factor / 1.19), 1.05 * seconds(2 * dram.factor / 1.19)) << "but before";
  }
  const BalancePoint alone = at(points.kernels.front(), MachineKey::DramBandwidth);
  EXPECT_EQ(alone.factor, dram.factor) << "a step of one kernel";
  EXPECT_EQ(at(points.step, MachineKey::L2Size).factor, 1.0);
}

TEST(Scaling, OptimumReachesTheTargetAndIsCheaperThanScalingAll) {
  const ScalingStudy study = make_study({compute_bound(), memory_bound()});
  const CostModel cost;
  const auto best = optimize(study, 2.0, cost);
  ASSERT_TRUE(best);
  EXPECT_GE(best->speedup, 2.0);
  Factors all;
  for (const MachineKey key : hardware::kAllMachineKeys) all.set(key, 2.0);
  EXPECT_LT(best->cost, cost.cost(all));
  EXPECT_EQ(best->factors.of(MachineKey::L2Size), 1.0) << "not needed here, so not paid for";
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
  const double base = study.step({}).total.base();
  for (const double target : {1.5, 2.0}) {
    double cheapest = 1e9;
    for (const double sms : {1.0, 1.1, 1.25, 1.5, 1.75, 2.0}) {
      for (const double lanes : {1.0, 1.1, 1.25, 1.5, 1.75, 2.0, 2.5}) {
        for (const double dram : {1.0, 1.1, 1.25, 1.5, 1.75, 2.0, 2.5}) {
          Factors f;
          f.set(MachineKey::Sms, sms);
          f.set(MachineKey::Lanes, lanes);
          f.set(MachineKey::DramBandwidth, dram);
          if (cost.cost(f) < cheapest && study.step(f).total.base() <= base / target) {
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
  factors.set(MachineKey::DramBandwidth, 2);
  EXPECT_DOUBLE_EQ(cost.cost(factors), 0.25);
  factors.set(MachineKey::Clock, 2);
  EXPECT_DOUBLE_EQ(cost.cost(factors), 0.25 + 0.30 * 7);
}

// The base machine's errors stay; the variant adds its own, which alone is the speed-up's.
TEST(Scaling, IntervalsWidenWithTheFactor) {
  const ScalingStudy study = make_study({memory_bound()});
  const VariantEstimate base = variant(study, {});
  EXPECT_EQ(base.speedup, 1);
  EXPECT_EQ(base.speedup_low, base.speedup_high);
  EXPECT_NEAR(base.step.low / study.step({}).low, 1, 1e-12);
  EXPECT_NEAR(base.step.high / study.step({}).high, 1, 1e-12);
  double before = 0;
  for (const double factor : {1.5, 2.0, 4.0}) {
    const VariantEstimate now = variant(study, Factors::one(MachineKey::DramBandwidth, factor));
    const double width = std::log(now.speedup / now.speedup_low);
    EXPECT_NEAR(width, study.predictor().constants().intervals.per_factor * std::log(factor), 1e-9);
    EXPECT_NEAR(
        std::log(now.step.high / now.step.total) - std::log(base.step.high / base.step.total),
        width, 1e-9);
    EXPECT_GT(width, before);
    EXPECT_GT(now.speedup_high, now.speedup);
    before = width;
  }
}

// A step that waits for its host: the host is the same on both machines.
TEST(Scaling, TheHostIsNoErrorOfASpeedup) {
  const ScalingStudy study = make_study(std::vector<ops::AnyOp>(
      200, ops::Elementwise{.function = ops::Function::Add, .shape = {8, 8}}));
  const VariantEstimate now = variant(study, Factors::one(MachineKey::DramBandwidth, 2));
  EXPECT_GT(now.step.parts.host, Seconds{});
  // The kernels, half of the time, are uncertain by 0.3 ln 2: of the step a quarter of that is left.
  EXPECT_NEAR(now.speedup_low, 1, 0.06);
  EXPECT_NEAR(now.speedup_high, 1, 0.06);
}

}  // namespace
}  // namespace rooftile::aggregate
