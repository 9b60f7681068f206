// SPDX-License-Identifier: Apache-2.0
#include "characterize/sweep.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "characterize/characterize.h"
#include "core/file.h"
#include "temporary_folder.h"
#include "unit/characterize/fake_device.h"

namespace rooftile::characterize {
namespace {

using testing::FakeDevice;

class SweepTest : public ::testing::Test {
 protected:
  static Plan quick_plan(const Device& device) {
    auto plan =
        make_plan(device.description(), device.capabilities(),
                  {.effort = Effort::Quick, .dtypes = {}, .patterns = {}, .max_working_set = {}});
    EXPECT_TRUE(plan.has_value());
    plan->warm_up = Seconds{};  // the fake device needs none, and a test should be fast
    plan->second_look = Seconds{};
    plan->limit.reset();  // of real time, which has nothing to do with the fake device's
    return *plan;
  }

  rooftile::testing::TemporaryFolder folder_;
  std::string checkpoint_ = folder_.file("run.samples");
};

TEST_F(SweepTest, MeasuresWhatTheDeviceDoes) {
  FakeDevice device;
  const Plan plan = quick_plan(device);
  const auto result = run_sweep(device, plan, {});
  ASSERT_TRUE(result.has_value()) << to_string(result.error());
  ASSERT_EQ(result->samples.size(), plan.cases.size());
  for (const Sample& s : result->samples) {
    EXPECT_TRUE(s.converged);
    if (s.what.pattern == Pattern::Load && s.what.working_set == 32_KiB) {
      EXPECT_NEAR(bandwidth(s).base(), 400e9, 1e3);
    }
    if (s.what.pattern == Pattern::Launch) {
      EXPECT_NEAR(step_time(s).base(), 5e-6, 1e-12);
    }
  }
}

TEST_F(SweepTest, NoiseThatSlowsDownDoesNotLowerTheEstimateMuch) {
  FakeDevice device;
  device.noise = 0.05;
  Plan plan = quick_plan(device);
  plan.stopping.budget = Seconds::from_base(10);
  const auto result = run_sweep(device, plan, {});
  ASSERT_TRUE(result.has_value());
  for (const Sample& s : result->samples) {
    if (s.what.pattern != Pattern::Load || s.what.working_set > 64_KiB) continue;
    // The 10 % quantile of the slow-down is -0.05 ln 0.9 = 0.5 %.
    EXPECT_NEAR(bandwidth(s).base(), 400e9, 400e9 * 0.02);
    EXPECT_GT(s.time.spread_fraction, 0.02);
  }
}

TEST_F(SweepTest, GetsShorterWhenTheTimeIsUp) {
  FakeDevice device;
  Plan plan = quick_plan(device);
  plan.stopping.target_error = 1e-9;  // never reached
  plan.limit = Seconds{};
  const auto result = run_sweep(device, plan, {});
  ASSERT_TRUE(result.has_value());
  ASSERT_EQ(result->samples.size(), plan.cases.size()) << "every case is measured all the same";
  for (const Sample& s : result->samples) EXPECT_LE(s.time.repetitions, 5);
}

TEST_F(SweepTest, StopsAndResumesWhereItWas) {
  FakeDevice device;
  const Plan plan = quick_plan(device);
  std::int64_t calls = 0;
  const auto stop_after_five = [&](const ProgressState&) { return ++calls <= 5; };
  const auto stopped = run_sweep(
      device, plan, {.checkpoint = checkpoint_, .progress = stop_after_five, .coordinator = {}});
  ASSERT_FALSE(stopped.has_value());
  EXPECT_EQ(stopped.error().message, kInterrupted);
  EXPECT_NE(stopped.error().hint.find("5 of "), std::string::npos) << stopped.error().hint;
  EXPECT_EQ(device.prepared, 5);

  const auto resumed =
      run_sweep(device, plan, {.checkpoint = checkpoint_, .progress = {}, .coordinator = {}});
  ASSERT_TRUE(resumed.has_value()) << to_string(resumed.error());
  EXPECT_EQ(resumed->resumed, 5);
  EXPECT_EQ(resumed->samples.size(), plan.cases.size());
  EXPECT_EQ(device.prepared, static_cast<std::int64_t>(plan.cases.size()));
  for (std::size_t i = 0; i < plan.cases.size(); ++i) {
    EXPECT_EQ(resumed->samples[i].what, plan.cases[i]);
  }
}

TEST_F(SweepTest, RefusesTheCheckpointOfAnotherPlan) {
  FakeDevice device;
  Plan plan = quick_plan(device);
  const SamplesFile other{.fingerprint = "0123456789abcdef", .samples = {}};
  ASSERT_TRUE(write_file_atomic(checkpoint_, write_samples(other)).has_value());
  const auto result =
      run_sweep(device, plan, {.checkpoint = checkpoint_, .progress = {}, .coordinator = {}});
  ASSERT_FALSE(result.has_value());
  EXPECT_EQ(result.error().where, checkpoint_);
}

TEST_F(SweepTest, HandsOnTheErrorOfTheDevice) {
  FakeDevice device;
  device.fail_after = 3;
  const auto result = run_sweep(device, quick_plan(device), {});
  ASSERT_FALSE(result.has_value());
  EXPECT_EQ(result.error().message, "broken");
}

TEST_F(SweepTest, TheSecondLookKeepsTheFasterAttempt) {
  FakeDevice device;
  device.noise = 0.5;  // nothing converges
  Plan plan = quick_plan(device);
  const auto first = run_sweep(device, plan, {});
  plan.second_look = Seconds::from_base(30);
  FakeDevice again;
  again.noise = 0.5;
  const auto second = run_sweep(again, plan, {});
  ASSERT_TRUE(first.has_value() && second.has_value());
  int faster = 0;
  for (std::size_t i = 0; i < first->samples.size(); ++i) {
    const Seconds a = first->samples[i].time.fast;
    const Seconds b = second->samples[i].time.fast;
    EXPECT_LE(b, a) << i;  // same seed: the first attempt is the same
    if (b < a) ++faster;
  }
  EXPECT_GT(faster, 0);
}

TEST_F(SweepTest, MemorySetsStartAtSeveralTimesTheLastCache) {
  FakeDevice device;
  device.description_.caches.back().capacity = 3_MiB;  // no power of two
  std::vector<Bytes> memory;
  for (const Case& c : quick_plan(device).cases) {
    if (c.pattern == Pattern::Load && c.working_set > 3_MiB) memory.push_back(c.working_set);
  }
  // 8 KiB x 2^k below 12 MiB; then 12 MiB x 2^(k/2), in pages of 8 KiB, up to 64 MiB.
  ASSERT_GE(memory.size(), 4u);
  EXPECT_EQ(memory[0], 4_MiB);
  EXPECT_EQ(memory[1], 8_MiB);
  EXPECT_EQ(memory[2], 12_MiB);
  EXPECT_NEAR(memory[3] / 12_MiB, 1.414, 0.001);
  EXPECT_LE(memory.back(), 64_MiB);
}

TEST_F(SweepTest, WarnsOfACacheThatTheSystemHides) {
  FakeDevice device;
  device.levels[1].capacity = 1e9 * 1_B;  // described as 1 MiB: everything beyond L1 is fast
  const auto result = run_sweep(device, quick_plan(device), {});
  ASSERT_TRUE(result.has_value());
  const auto reduced =
      reduce(device.description(), result->samples, {3000_MHz}, LevelRule::Topology);
  const auto found = std::find_if(
      reduced.warnings.begin(), reduced.warnings.end(),
      [](const std::string& w) { return w.starts_with("DRAM is nearly as fast as L2"); });
  EXPECT_NE(found, reduced.warnings.end());
}

TEST_F(SweepTest, MemoryIsNotMeasuredBySetsThatMayFit) {
  FakeDevice device;
  Plan plan = quick_plan(device);
  std::erase_if(plan.cases, [](const Case& c) { return c.working_set > 2_MiB; });
  const auto result = run_sweep(device, plan, {});
  ASSERT_TRUE(result.has_value());
  const auto reduced =
      reduce(device.description(), result->samples, {3000_MHz}, LevelRule::Topology);
  EXPECT_EQ(reduced.bandwidths.back().plateau.level, "L2");
  ASSERT_FALSE(reduced.warnings.empty());
  EXPECT_EQ(reduced.warnings[0],
            "memory was not measured: no working set is 4 times the last cache");
}

/// Two ranks in one process: the other one always takes twice as long.
class SlowPartner final : public Coordinator {
 public:
  int barriers = 0;

 private:
  void do_barrier() override { ++barriers; }
  Seconds do_simultaneous(Seconds own, Seconds begin, Seconds end) override {
    EXPECT_LE(begin, end);
    return own * 2.0;
  }
};

TEST_F(SweepTest, KeepsOwnAndSimultaneousTimesApart) {
  FakeDevice device;
  SlowPartner partner;
  const auto result = run_sweep(device, quick_plan(device),
                                {.checkpoint = {}, .progress = {}, .coordinator = &partner});
  ASSERT_TRUE(result.has_value());
  ASSERT_EQ(result->samples.size(), result->simultaneous.size());
  EXPECT_GT(partner.barriers, 100);
  const Sample& own = result->samples.front();
  const Sample& all = result->simultaneous.front();
  EXPECT_NEAR(all.time.fast / own.time.fast, 2.0, 1e-9);
}

TEST_F(SweepTest, CharacterizesTheFakeMachine) {
  FakeDevice device;
  const auto result = characterize(
      device,
      {.plan = {.effort = Effort::Quick, .dtypes = {}, .patterns = {}, .max_working_set = {}},
       .sweep = {}});
  ASSERT_TRUE(result.has_value()) << to_string(result.error());
  const auto ceilings = to_ceilings(result->own, "test 1");
  using hardware::MemoryLevel;
  EXPECT_NEAR(ceilings.bandwidth.at(MemoryLevel::L1).value.base(), 400e9, 1e4);
  EXPECT_NEAR(ceilings.bandwidth.at(MemoryLevel::L2).value.base(), 200e9, 1e4);
  EXPECT_NEAR(ceilings.bandwidth.at(MemoryLevel::Dram).value.base(), 40e9, 1e4);
  EXPECT_NEAR(ceilings.rate.at({.dtype = DType::Fp64}).value.base(), 96e9, 1e3);
  EXPECT_NEAR(ceilings.launch->value.base(), 5e-6, 1e-9);
}

bool mentions(const std::vector<std::string>& warnings, const std::string& text) {
  return std::any_of(warnings.begin(), warnings.end(),
                     [&](const std::string& w) { return w.find(text) != std::string::npos; });
}

CharacterizeOptions quick_options() {
  CharacterizeOptions options;
  options.plan.effort = Effort::Quick;
  return options;
}

/// A sample of chase: `ns` per load in a set of `kib`.
Sample chain(double kib, double ns) {
  const Seconds pass = Seconds::from_base(ns * 1e-9 * 4096);
  return {.what = {.pattern = Pattern::Chase,
                   .dtype = DType::Int64,
                   .pipe = {},
                   .working_set = Bytes::from_base(kib * 1024),
                   .flops_per_element = 0},
          .work = {.bytes = {}, .flops = {}, .steps = 4096},
          .passes = 1,
          .time = summarize(std::vector<Seconds>(12, pass), 0.95),
          .converged = true};
}

TEST_F(SweepTest, ALatencyThatIsNotRepeatableIsLeftOut) {
  const auto latencies = [](std::vector<Sample> samples) {
    return reduce(FakeDevice().description_, std::move(samples), {}, LevelRule::Topology);
  };
  // Others took the larger part of L2 (1 MiB): the small chains tell what is left of it.
  const Characterization good = latencies({chain(32, 1), chain(40, 1), chain(128, 14),
                                           chain(152, 14.5), chain(512, 138), chain(768, 136)});
  ASSERT_EQ(good.latencies.size(), 2u);
  EXPECT_NEAR(good.latencies[1].value, 14.25e-9, 1e-12);
  // They took nearly all of it: no two chains agree, or only those in memory.
  const Characterization bad = latencies({chain(32, 1), chain(40, 1), chain(128, 14),
                                          chain(152, 30), chain(512, 138), chain(768, 136)});
  ASSERT_EQ(bad.latencies.size(), 1u);
  EXPECT_EQ(bad.latencies[0].level, "L1");
  // Memory is as slow as what is called a cache.
  const Characterization slow = latencies({chain(128, 120), chain(152, 121), chain(4096, 150)});
  ASSERT_EQ(slow.latencies.size(), 1u);
  EXPECT_EQ(slow.latencies[0].level, "DRAM");
  const auto said = [](const std::string& w) { return w.find("latency of L2 is left out") == 4; };
  EXPECT_TRUE(std::any_of(bad.warnings.begin(), bad.warnings.end(), said));
}

TEST_F(SweepTest, LeavesOutARateAboveThePhysicalLimit) {
  FakeDevice device;
  device.peak = FlopsPerSecond::from_base(200e9);  // the limit is 32 FLOP per cycle at 3 GHz: 96e9
  const auto result = characterize(device, quick_options());
  ASSERT_TRUE(result.has_value()) << to_string(result.error());
  // Low intensities are bound by bandwidth and stay: 400 GB/s x 1 FLOP per 16 B, and so on.
  const auto ceilings = to_ceilings(result->own, "test");
  EXPECT_LE(ceilings.rate.at({.dtype = DType::Fp64}).value.base(), 96e9 * 1.1);
  for (const Sample& s : result->own.samples) {
    if (s.what.dtype != DType::Fp64) continue;
    EXPECT_LE(flop_rate(s).base(), 96e9 * 1.1);
  }
  // The margin of the observed clock is 10 %.
  EXPECT_TRUE(mentions(result->own.warnings, "200 GFLOP/s, above the 106 GFLOP/s that 2 units"));
  EXPECT_TRUE(mentions(ceilings.notes, "is left out: measured twice"));
}

TEST_F(SweepTest, AKernelThatDoesNothingIsAnErrorWithoutAnyFile) {
  FakeDevice device;
  device.does_nothing = [](const Case&) { return true; };
  CharacterizeOptions options = quick_options();
  options.sweep.checkpoint = checkpoint_;
  const auto result = characterize(device, options);
  ASSERT_FALSE(result.has_value());
  EXPECT_EQ(result.error().code, ErrorCode::BadInput);
  EXPECT_EQ(result.error().where, "fake:fake machine");
  EXPECT_NE(result.error().message.find("no measurement is plausible"), std::string::npos)
      << result.error().message;
  EXPECT_TRUE(std::filesystem::is_empty(folder_.path()));
}

TEST_F(SweepTest, OverheadAloneIsNothingThatRemains) {
  FakeDevice device;
  device.does_nothing = [](const Case& what) { return what.pattern != Pattern::Launch; };
  EXPECT_FALSE(characterize(device, quick_options()).has_value());
}

TEST_F(SweepTest, OneFormatThatDoesNothingIsLeftOutWithAWarning) {
  FakeDevice device;
  device.does_nothing = [](const Case& what) { return what.dtype == DType::Bf16; };
  const auto result = characterize(device, quick_options());
  ASSERT_TRUE(result.has_value()) << to_string(result.error());
  EXPECT_FALSE(result->own.rates.contains({.dtype = DType::Bf16}));
  EXPECT_TRUE(result->own.rates.contains({.dtype = DType::Fp32}));
  EXPECT_TRUE(mentions(result->own.warnings, "update bf16, 32 KiB, 2 FLOP is left out"));
  for (const Sample& s : result->own.samples) EXPECT_NE(s.what.dtype, DType::Bf16);
}

TEST_F(SweepTest, MeasuresAgainWhatCannotBeTrue) {
  FakeDevice device;
  std::int64_t odd = 0;  // every first attempt fails
  device.does_nothing = [&odd](const Case&) { return ++odd % 2 == 1; };
  const Plan plan = quick_plan(device);
  const auto result = run_sweep(device, plan, {});
  ASSERT_TRUE(result.has_value()) << to_string(result.error());
  EXPECT_TRUE(result->omissions.empty());
  EXPECT_EQ(result->samples.size(), plan.cases.size());
  EXPECT_EQ(device.prepared, 2 * static_cast<std::int64_t>(plan.cases.size()));
}

TEST_F(SweepTest, DoesNotTakeTheImpossibleFromACheckpoint) {
  FakeDevice device;
  const Plan plan = quick_plan(device);
  const auto honest = run_sweep(device, plan, {});
  ASSERT_TRUE(honest.has_value());
  std::vector<Sample> samples = honest->samples;
  samples.front().time.fast = Seconds::from_base(1e-15);
  ASSERT_TRUE(write_file_atomic(checkpoint_,
                                write_samples({fingerprint(device.description(), plan), samples}))
                  .has_value());
  const auto resumed =
      run_sweep(device, plan, {.checkpoint = checkpoint_, .progress = {}, .coordinator = {}});
  ASSERT_TRUE(resumed.has_value()) << to_string(resumed.error());
  EXPECT_EQ(resumed->resumed, static_cast<std::int64_t>(plan.cases.size()) - 1);
  EXPECT_EQ(resumed->samples.front().time.fast, honest->samples.front().time.fast);
}

TEST_F(SweepTest, PlansOnlyWhatAKernelCanRun) {
  FakeDevice device;
  for (const Case& c : quick_plan(device).cases) {
    if (c.dtype != DType::Bf16) continue;
    EXPECT_GE(c.flops_per_element, 2) << describe(c);
  }
  // Alone, the format gives a rate but no bandwidth: its smallest kernel may be bound by
  // arithmetic.
  CharacterizeOptions options = quick_options();
  options.plan.dtypes = {DType::Bf16};
  const auto result = characterize(device, options);
  ASSERT_TRUE(result.has_value()) << to_string(result.error());
  EXPECT_TRUE(result->own.bandwidths.empty());
  EXPECT_TRUE(result->own.rates.contains({.dtype = DType::Bf16}));
  // Beside a narrower one that has the kernel, that one gives the curve.
  const auto plan =
      make_plan(device.description(),
                {{.pattern = Pattern::Update, .dtype = DType::Bf16, .least_flops = 2},
                 {.pattern = Pattern::Update, .dtype = DType::Int8}},
                {.effort = Effort::Quick, .dtypes = {}, .patterns = {}, .max_working_set = {}});
  ASSERT_TRUE(plan.has_value());
  const auto curve = std::count_if(plan->cases.begin(), plan->cases.end(), [](const Case& c) {
    return c.dtype == DType::Int8 && c.flops_per_element == 1;
  });
  EXPECT_GT(curve, 5);
}

TEST_F(SweepTest, RefusesAPlanWithoutCases) {
  FakeDevice device;
  const auto plan = make_plan(
      device.description(), device.capabilities(),
      {.effort = Effort::Quick, .dtypes = {DType::Fp8E4m3}, .patterns = {}, .max_working_set = {}});
  ASSERT_FALSE(plan.has_value());
  EXPECT_EQ(plan.error().code, ErrorCode::Unsupported);
  EXPECT_EQ(plan.error().message, "no kernel measures fp8_e4m3");
  EXPECT_EQ(plan.error().hint,
            "this device can run load in fp64; update in fp64, fp32, bf16; launch in int64");
}

TEST_F(SweepTest, RefusesWhatNoKernelMeasuresBesideWhatOneDoes) {
  FakeDevice device;
  const auto error = [&](std::vector<DType> dtypes, std::vector<Pattern> patterns) {
    const auto plan = make_plan(device.description(), device.capabilities(),
                                {.effort = Effort::Quick,
                                 .dtypes = std::move(dtypes),
                                 .patterns = std::move(patterns),
                                 .max_working_set = {}});
    return plan ? std::string() : plan.error().message;
  };
  EXPECT_EQ(error({DType::Fp64, DType::Int8}, {}), "no kernel measures int8");
  EXPECT_EQ(error({DType::Bf16}, {Pattern::Load}), "no kernel measures load in bf16");
  EXPECT_EQ(error({}, {Pattern::Update, Pattern::Mma}), "no kernel measures mma");
  EXPECT_EQ(error({DType::Bf16, DType::Fp64}, {Pattern::Load, Pattern::Update}), "");
}

}  // namespace
}  // namespace rooftile::characterize
