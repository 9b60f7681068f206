// SPDX-License-Identifier: Apache-2.0
#include "cost/attained.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string_view>

#include "cost/learned/weights.h"
#include "cost/predictor.h"
#include "default_constants.h"
#include "ops/any_op.h"

namespace rooftile::cost {
namespace {

hardware::Machine attained_machine(std::string_view gpu) {
  return hardware::load_machine(Catalog::embedded(), gpu, std::nullopt).value();
}

// 12 nm: 0.9 of 16 W per TFLOP/s; 8.1 TFLOP/s draw 116.6 W of the 70 W that a T4 has.
TEST(Attained, ClockFollowsThePower) {
  ClockConstants clock = starting<ClockConstants>();
  clock.watt_16nm = 16, clock.watt_28nm = 40;
  hardware::GpuSpec t4 = attained_machine("t4").gpu;
  EXPECT_NEAR(*power_demand(t4, 8.1e12, 1, clock), 0.9 * 16 * 8.1 / 70, 1e-12);
  EXPECT_NEAR(*power_demand(t4, 8.1e12, 1.25, clock), 1.25 * 0.9 * 16 * 8.1 / 70, 1e-12);
  Constants constants = testing::default_constants();
  constants.clock = clock;
  // 8.141 TFLOP/s by lanes and clock.
  EXPECT_NEAR(attained({.gpu = t4, .ceilings = {}}, constants).clock, 70 / (0.9 * 16 * 8.141),
              1e-3);
  EXPECT_EQ(attained(attained_machine("v100-pcie-32gb"), constants).clock, 1.0);
  // 28 nm has a number of its own, and what is not stated limits nothing.
  const hardware::GpuSpec m40 = attained_machine("m40").gpu;
  EXPECT_NEAR(*power_demand(m40, 1e12, 1, clock), 40 / *m40.power_watt, 1e-12);
  t4.process.reset();
  EXPECT_FALSE(power_demand(t4, 8.1e12, 1, clock));
}

// 16-bit products of an L40S at 2.52 GHz draw 0.104 x 0.3 x 15 (2.52 / 1.41)^2 W per TFLOP/s, 548 W
// of 350; those of an A100 at 1.41 GHz 243 of 400.
TEST(Attained, TensorProductsDrawWithTheSquareOfTheClock) {
  ClockConstants clock = starting<ClockConstants>();
  clock.watt_16nm = 15, clock.tensor_share = 0.104, clock.tensor_narrow = 0.5;
  clock.tensor_exponent = 0.25;
  const hardware::RateKey bf16{.dtype = DType::Bf16, .pipe = hardware::Pipe::Tensor};
  const hardware::RateKey fp8{.dtype = DType::Fp8E4m3, .pipe = hardware::Pipe::Tensor};
  hardware::GpuSpec l40s = attained_machine("l40s").gpu;
  EXPECT_NEAR(*tensor_demand(l40s, bf16, clock), 548.0 / 350, 0.01);
  EXPECT_NEAR(*tensor_slowdown(l40s, bf16, clock), std::pow(548.0 / 350, 0.25), 0.01);
  // Half of the energy at twice the rate.
  EXPECT_NEAR(*tensor_demand(l40s, fp8, clock), *tensor_demand(l40s, bf16, clock), 0.01);
  EXPECT_NEAR(*tensor_demand(attained_machine("a100-sxm-80gb").gpu, bf16, clock), 243.0 / 400,
              0.01);
  EXPECT_EQ(*tensor_slowdown(attained_machine("a100-sxm-80gb").gpu, bf16, clock), 1.0);
  // Lasting load: 0.9 / sqrt(0.3) = 1.643 times as much at 4 nm, an L40S slows down further; 0.9 /
  // sqrt(0.5) = 1.273 times at 7 nm, an A100 stays below its 400 W.
  clock.tensor_sustained = 0.9;
  EXPECT_NEAR(sustained_slowdown(l40s, bf16, clock), std::pow(0.9 / std::sqrt(0.3), 0.25), 1e-12);
  EXPECT_EQ(sustained_slowdown(attained_machine("a100-sxm-80gb").gpu, bf16, clock), 1.0);
  // With half of the power it slows down at once: 1.273 x 243 / 200 in all.
  hardware::GpuSpec half = attained_machine("a100-sxm-80gb").gpu;
  *half.power_watt /= 2;
  EXPECT_NEAR(sustained_slowdown(half, bf16, clock) * *tensor_slowdown(half, bf16, clock),
              std::pow(0.9 / std::sqrt(0.5) * 243.36 / 200, 0.25), 0.001);
  // Never less than in a short campaign.
  clock.tensor_sustained = 0.1;
  EXPECT_EQ(sustained_slowdown(l40s, bf16, clock), 1.0);
  l40s.power_watt.reset();
  EXPECT_FALSE(tensor_slowdown(l40s, bf16, clock));
  EXPECT_EQ(sustained_slowdown(l40s, bf16, clock), 1.0);
}

// The rule is one for all processes: with the load of products it gives the FP32 rates that were
// published for boards that nobody fitted.
TEST(Attained, PublishedRatesOfOtherProcesses) {
  const auto weights = learned::read_default(Catalog::embedded()).value();
  const double load = weights.models.at("nvidia").gemm->plateau.load;
  const hardware::RateKey fp32{.dtype = DType::Fp32, .pipe = hardware::Pipe::Vector};
  for (const char* id : {"a40", "l40"}) {
    const hardware::GpuSpec gpu = attained_machine(id).gpu;
    const double peak = gpu.peak.at(fp32).base();
    const double published = gpu.measured.rate.at(fp32).base();
    const double demand = *power_demand(gpu, peak, load, weights.constants.clock);
    EXPECT_NEAR(peak / demand / published, 1, 0.15) << id;
  }
}

TEST(Attained, MeasuredBandwidthAndLaunchComeFirst) {
  const Constants& constants = testing::default_constants();
  hardware::Machine a100 = attained_machine("a100-sxm-80gb");
  const Attained sheet = attained(a100, constants);
  EXPECT_LT(sheet.streaming, 1);
  EXPECT_EQ(sheet.launch, Seconds::from_base(constants.step.gap));
  hardware::Ceilings& measured = a100.ceilings.emplace();
  measured.bandwidth[hardware::MemoryLevel::Dram].value = BytesPerSecond::from_base(1.7e12);
  measured.bandwidth[hardware::MemoryLevel::L2].value = BytesPerSecond::from_base(4e12);
  measured.launch.emplace().value = Seconds::from_base(7e-6);
  const Attained here = attained(a100, constants);
  EXPECT_EQ(here.streaming, 1.0);
  EXPECT_EQ(here.products, 1.0);
  EXPECT_EQ(here.convolutions, 1.0);
  EXPECT_EQ(here.l2, BytesPerSecond::from_base(4e12));
  EXPECT_EQ(here.launch, Seconds::from_base(7e-6));
}

/// A matrix and a vector, and a convolution of few filters: both stream.
ops::KernelList streaming_kernels() {
  const ops::LowerContext fp32{.precision = ops::precision_of(DType::Fp32)};
  ops::KernelList kernels;
  ops::forward(ops::Linear{.rows = 1, .in = 8192, .out = 8192}, fp32, kernels);
  const ops::ConvShape layer{.n = 32, .c = 64, .h = 112, .w = 112, .k = 8, .r = 1, .s = 1};
  ops::forward(ops::Conv2d{.conv = layer}, fp32, kernels);
  return kernels;
}

// What was measured on a machine moves every predictor that states more than a bound.
TEST(Attained, MeasuredNumbersMoveEveryPredictor) {
  const hardware::Machine sheet = attained_machine("a100-sxm-80gb");
  hardware::Machine slow = sheet;
  slow.ceilings.emplace().bandwidth[hardware::MemoryLevel::Dram].value =
      *sheet.gpu.dram.bandwidth * 0.25;
  hardware::Machine late = sheet;
  late.ceilings.emplace().launch.emplace().value = Seconds::from_base(50e-6);
  for (const std::string_view name : predictor_names()) {
    const auto predictor = make_predictor(name, Catalog::embedded()).value();
    for (const ops::KernelWork& work : streaming_kernels()) {
      const auto seconds = [&](const hardware::Machine& machine) {
        return predictor->estimate(bind(work, machine).value(), machine).time.base();
      };
      const double before = seconds(sheet);
      // The network of neusight sees the bandwidth as one feature of many.
      const double factor = name == "neusight" ? 1.0 : 1.5;
      EXPECT_GT(seconds(slow), factor * before) << name << " " << work.op;
      if (name == "bound") continue;  // knows no launches
      EXPECT_GT(seconds(late), before + 40e-6) << name << " " << work.op;
    }
  }
}

}  // namespace
}  // namespace rooftile::cost
