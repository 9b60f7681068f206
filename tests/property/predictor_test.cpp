// SPDX-License-Identifier: Apache-2.0
//
// What every estimate of the fitted predictors must satisfy, on random kernels: finite and never
// below the bound on every GPU of the catalogue; for the default predictor also: more DRAM
// bandwidth or a higher peak is never slower.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <random>

#include "core/catalog.h"
#include "cost/predictor.h"
#include "hardware/load.h"
#include "hardware/machine.h"
#include "ops/any_op.h"

namespace rooftile::cost {
namespace {

/// Random kernels of every class, sizes log-uniform; the seed is fixed.
class RandomKernels {
 public:
  ops::KernelWork next(DType dtype) {
    ops::KernelList kernels;
    const ops::LowerContext context{.precision = ops::precision_of(dtype)};
    ops::forward(next_op(), context, kernels);
    return kernels.front();
  }

 private:
  std::int64_t size(double most) {
    std::uniform_real_distribution<double> exponent(0.0, std::log2(most));
    return static_cast<std::int64_t>(std::exp2(exponent(engine_)));
  }
  ops::AnyOp next_op() {
    switch (turn_++ % 7) {
      case 0: return ops::Linear{.rows = size(65536), .in = size(32768), .out = size(32768)};
      case 1:
        return ops::BatchedMatmul{
            .batch = size(1024), .m = size(2048), .n = size(2048), .k = size(1024)};
      case 2: return ops::Softmax{.shape = {size(262144), size(16384)}};
      case 3: return ops::LayerNorm{.shape = {size(262144), size(16384)}};
      case 4:
        return ops::Elementwise{.function = ops::Function::Gelu,
                                .shape = {size(262144), size(16384)}};
      case 5: {
        const std::int64_t side = 7 + size(120);
        return ops::Conv2d{.conv = {.n = size(64),
                                    .c = size(512),
                                    .h = side,
                                    .w = side,
                                    .k = size(512),
                                    .r = 3,
                                    .s = 3,
                                    .pad_h = 1,
                                    .pad_w = 1}};
      }
      default: {
        const std::int64_t heads = size(32);
        const std::int64_t queries = size(4096);
        return ops::FusedAttention{.shape = {.batch = size(16),
                                             .heads = heads,
                                             .kv_heads = heads,
                                             .queries = queries,
                                             .keys = queries,
                                             .head_dim = 64,
                                             .causal = true}};
      }
    }
  }
  std::mt19937 engine_{20241116};
  int turn_ = 0;
};

Job job_of(const ops::KernelWork& work, const hardware::Machine& machine, Setting setting) {
  Job job = bind(work, machine).value();
  job.setting = setting;
  return job;
}

class EveryPredictor : public testing::TestWithParam<const char*> {};

TEST_P(EveryPredictor, IsFiniteAndNeverBelowTheBoundOnAnyGpu) {
  const Catalog catalog = Catalog::embedded();
  const auto predictor = make_predictor(GetParam(), catalog).value();
  const auto gpus = hardware::list_gpus(catalog).value();
  EXPECT_GT(gpus.size(), 40U);
  RandomKernels random;
  for (const hardware::GpuSpec& gpu : gpus) {
    const hardware::Machine machine{.gpu = gpu, .ceilings = std::nullopt};
    for (int i = 0; i < 70; ++i) {
      const ops::KernelWork work = random.next(DType::Fp32);
      const Setting setting = i % 2 == 0 ? Setting::Isolated : Setting::InStream;
      const Estimate e = predictor->estimate(job_of(work, machine, setting), machine);
      const std::string what = gpu.id + " " + work.op + " " + shape_text(work.shape);
      ASSERT_TRUE(std::isfinite(e.time.base()) && std::isfinite(e.low.base()) &&
                  std::isfinite(e.high.base()) && std::isfinite(e.bound.base()))
          << what;
      EXPECT_GT(e.time, Seconds{}) << what;
      EXPECT_GE(e.time, e.bound) << what;
      EXPECT_LE(e.low, e.time) << what;
      EXPECT_GE(e.high, e.time) << what;
      EXPECT_TRUE(std::isfinite(e.traffic.l1.base()) && std::isfinite(e.traffic.l2.base()) &&
                  std::isfinite(e.traffic.dram().base()))
          << what;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Fitted, EveryPredictor, testing::Values("rooftile", "neusight", "trivial"),
                         [](const auto& test) { return std::string(test.param); });

/// A GPU with `bandwidth` and `peak` times those of the data sheet.
hardware::Machine scaled(hardware::Machine machine, double bandwidth, double peak) {
  machine.gpu.dram.bandwidth = *machine.gpu.dram.bandwidth * bandwidth;
  for (auto& [key, rate] : machine.gpu.peak) rate *= peak;
  return machine;
}

class Monotone : public testing::TestWithParam<const char*> {
 protected:
  /// Largest time with the scaled machine over time with the plain one, per operator.
  std::map<std::string, double> worst(double bandwidth, double peak, DType dtype) const {
    const Catalog catalog = Catalog::embedded();
    const auto predictor = make_predictor("rooftile", catalog).value();
    const auto plain = hardware::load_machine(catalog, GetParam(), std::nullopt).value();
    const auto changed = scaled(plain, bandwidth, peak);
    RandomKernels random;
    std::map<std::string, double> ratios;
    for (int i = 0; i < 420; ++i) {
      const ops::KernelWork work = random.next(dtype);
      if (!bind(work, plain)) continue;
      const Setting setting = i % 2 == 0 ? Setting::Isolated : Setting::InStream;
      const Seconds before = predictor->estimate(job_of(work, plain, setting), plain).time;
      const Seconds after = predictor->estimate(job_of(work, changed, setting), changed).time;
      double& ratio = ratios[work.op];
      ratio = std::max(ratio, after / before);
    }
    return ratios;
  }
};

TEST_P(Monotone, MoreBandwidthIsNeverSlower) {
  for (const double factor : {1.02, 1.4, 3.0}) {
    for (const DType dtype : {DType::Fp32, DType::Bf16}) {
      for (const auto& [op, ratio] : worst(factor, 1.0, dtype))
        EXPECT_LE(ratio, 1 + 1e-9) << op << " bandwidth x " << factor;
    }
  }
}

TEST_P(Monotone, AHigherPeakIsNeverSlower) {
  for (const double factor : {1.02, 1.4, 3.0}) {
    for (const DType dtype : {DType::Fp32, DType::Bf16}) {
      for (const auto& [op, ratio] : worst(1.0, factor, dtype))
        EXPECT_LE(ratio, 1 + 1e-9) << op << " peak x " << factor;
    }
  }
}

/// Two boards with the same chip, the second with no less of anything.
bool no_less(const hardware::GpuSpec& a, const hardware::GpuSpec& b) {
  if (a.id == b.id || a.chip != b.chip || a.isa != b.isa || a.devices != b.devices) return false;
  if (!a.power_watt || !b.power_watt || *b.power_watt < *a.power_watt) return false;
  if (b.clock.boost < a.clock.boost || b.sm.count < a.sm.count) return false;
  if (*b.dram.bandwidth < *a.dram.bandwidth || a.l2.size != b.l2.size) return false;
  return std::all_of(a.peak.begin(), a.peak.end(), [&b](const auto& rate) {
    const auto other = b.peak.find(rate.first);
    return other != b.peak.end() && other->second >= rate.second;
  });
}

TEST(Siblings, ABoardWithNoLessOfAnythingIsNotSlower) {
  // Boards that were measured themselves differ by the spread of their campaigns.
  constexpr double kSpread = 1.02;
  const Catalog catalog = Catalog::embedded();
  const auto predictor = make_predictor("rooftile", catalog).value();
  const auto gpus = hardware::list_gpus(catalog).value();
  int pairs = 0;
  for (const hardware::GpuSpec& a : gpus) {
    for (const hardware::GpuSpec& b : gpus) {
      if (!no_less(a, b)) continue;
      ++pairs;
      const hardware::Machine lesser{.gpu = a, .ceilings = std::nullopt};
      const hardware::Machine better{.gpu = b, .ceilings = std::nullopt};
      for (const DType dtype : {DType::Fp32, DType::Fp16, DType::Bf16}) {
        RandomKernels random;
        for (int i = 0; i < 140; ++i) {
          const ops::KernelWork work = random.next(dtype);
          if (!bind(work, lesser)) continue;
          const Seconds slow =
              predictor->estimate(job_of(work, lesser, Setting::InStream), lesser).time;
          const Seconds fast =
              predictor->estimate(job_of(work, better, Setting::InStream), better).time;
          EXPECT_LE(fast / slow, kSpread) << b.id << " against " << a.id << ": " << work.op << " "
                                          << shape_text(work.shape) << " " << name_of(dtype);
        }
      }
    }
  }
  EXPECT_GT(pairs, 15);
}

INSTANTIATE_TEST_SUITE_P(Gpus, Monotone,
                         testing::Values("v100-pcie-32gb", "t4", "a100-sxm-80gb", "h100-sxm", "l4",
                                         "mi210", "mi300x"),
                         [](const auto& test) {
                           std::string name = test.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

}  // namespace
}  // namespace rooftile::cost
