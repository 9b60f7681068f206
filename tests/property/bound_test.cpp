// SPDX-License-Identifier: Apache-2.0
//
// What every bound and every step must satisfy, on random kernels and on all built-in models.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "core/catalog.h"
#include "cost/predictor.h"
#include "embedded_session.h"
#include "graph/import_model.h"
#include "hardware/load.h"
#include "hardware/machine.h"
#include "ops/any_op.h"
#include "rooftile/report.h"

namespace rooftile {
namespace {

/// Random sizes, log-uniform so that small and large shapes both occur; the seed is fixed.
class Random {
 public:
  std::int64_t size(double most) {
    std::uniform_real_distribution<double> exponent(0.0, std::log2(most));
    return static_cast<std::int64_t>(std::exp2(exponent(engine_)));
  }
  ops::KernelWork work() {
    ops::KernelList kernels;
    const ops::LowerContext context{.precision = ops::precision_of(DType::Fp32)};
    switch (size(4) % 4) {
      case 0:
        ops::forward(ops::Linear{.rows = size(65536), .in = size(16384), .out = size(16384)},
                     context, kernels);
        break;
      case 1:
        ops::forward(
            ops::BatchedMatmul{
                .batch = size(512), .m = size(2048), .n = size(2048), .k = size(256)},
            context, kernels);
        break;
      case 2:
        ops::forward(ops::Softmax{.shape = {size(262144), size(8192)}}, context, kernels);
        break;
      default:
        ops::forward(
            ops::Elementwise{.function = ops::Function::Gelu, .shape = {size(262144), size(8192)}},
            context, kernels);
    }
    return kernels.front();
  }

 private:
  std::mt19937 engine_{20240801};
};

hardware::Machine machine_of(std::string_view gpu) {
  return hardware::load_machine(Catalog::embedded(), gpu, std::nullopt).value();
}

cost::Estimate bound_of(const ops::KernelWork& work, const hardware::Machine& machine) {
  const auto predictor = cost::make_predictor("bound", Catalog::embedded()).value();
  return predictor->estimate(cost::bind(work, machine).value(), machine);
}

TEST(BoundProperty, MoreBandwidthOrPeakIsNeverSlower) {
  Random random;
  const hardware::Machine base = machine_of("a100-pcie-40gb");
  hardware::Machine wider = base;
  wider.gpu.dram.bandwidth = *wider.gpu.dram.bandwidth * 2.0;
  hardware::Machine faster = base;
  for (auto& [key, rate] : faster.gpu.peak) rate *= 2.0;
  for (int i = 0; i < 2000; ++i) {
    const ops::KernelWork work = random.work();
    const Seconds time = bound_of(work, base).time;
    EXPECT_LE(bound_of(work, wider).time, time);
    EXPECT_LE(bound_of(work, faster).time, time);
    EXPECT_GE(bound_of(work, wider).time, time / 2.0)
        << "twice one resource is at most twice as fast";
  }
}

TEST(BoundProperty, MoreWorkIsNeverFaster) {
  Random random;
  // Without an L2: with one, the half batch may fit it and the whole may not.
  hardware::Machine machine = machine_of("t4");
  machine.gpu.l2.size.reset();
  const ops::LowerContext context{.precision = ops::precision_of(DType::Fp32)};
  for (int i = 0; i < 500; ++i) {
    const ops::Linear small{
        .rows = random.size(8192), .in = random.size(8192), .out = random.size(8192)};
    ops::Linear large = small;
    large.rows *= 2;
    ops::KernelList kernels;
    ops::forward(small, context, kernels);
    ops::forward(large, context, kernels);
    const Seconds one = bound_of(kernels[0], machine).time;
    const Seconds two = bound_of(kernels[1], machine).time;
    EXPECT_GE(two, one);
    EXPECT_LE(two, one * 2.0) << "two half batches are never cheaper than one whole";
  }
}

TEST(BoundProperty, FlopsAndCompulsoryBytesDoNotDependOnTheGpu) {
  Random random;
  for (int i = 0; i < 300; ++i) {
    const ops::KernelWork work = random.work();
    for (const char* gpu : {"p4", "h100-sxm", "mi300x"}) {
      const hardware::Machine machine = machine_of(gpu);
      const cost::Estimate estimate = bound_of(work, machine);
      EXPECT_GE(estimate.traffic.l1, work.bytes());
      EXPECT_GE(estimate.plan.wave_factor(), 1.0);
      EXPECT_TRUE(std::isfinite(estimate.time.base()));
    }
  }
}

class EveryModel : public ::testing::TestWithParam<std::string> {};

TEST_P(EveryModel, TotalsAreTheSumOfTheirParts) {
  Request request;
  request.model = GetParam();
  request.gpu = "h100-sxm";
  request.phase = "train";
  request.optimizer = "adamw";
  request.predictor = "bound";
  const auto report = testing::embedded_session().predict(request);
  ASSERT_TRUE(report) << to_string(report.error());
  double total = 0;
  double flops = 0;
  for (const OperatorReport& op : report->operators) {
    total += op.latency_ms;
    flops += op.flops;
    EXPECT_GE(op.latency_ms, op.bound_ms * (1 - 1e-12)) << op.name;
    EXPECT_GT(op.count, 0) << op.name;
  }
  const double near = 1e-9 * total;
  EXPECT_NEAR(report->latency.total_ms, total, near);
  EXPECT_NEAR(
      report->latency.forward_ms + report->latency.backward_ms + report->latency.optimizer_ms,
      total, near);
  EXPECT_NEAR(report->flops, flops, 1e-9 * flops);
  double shares = 0;
  for (const auto& [limiter, share] : report->limiter_share) shares += share;
  EXPECT_NEAR(shares, 1.0, 1e-9);
  const MemoryReport& memory = report->memory;
  EXPECT_NEAR(memory.total_bytes,
              memory.weights_bytes + memory.gradients_bytes + memory.optimizer_bytes +
                  memory.activations_bytes + memory.kv_cache_bytes,
              1.0);
}

TEST_P(EveryModel, TwiceTheBatchIsNotFaster) {
  Request request;
  request.model = GetParam();
  request.gpu = "b200";  // multiplies the format of every model
  request.predictor = "bound";
  const auto one = testing::embedded_session().predict(request);
  request.batch = 2;
  const auto two = testing::embedded_session().predict(request);
  ASSERT_TRUE(one && two);
  EXPECT_GE(two->latency.total_ms, one->latency.total_ms);
}

std::vector<std::string> model_names() {
  std::vector<std::string> names;
  const auto models = graph::list_models(Catalog::embedded());
  if (models) {
    for (const graph::ModelSummary& model : *models) names.push_back(model.name);
  }
  return names;
}

INSTANTIATE_TEST_SUITE_P(BuiltIn, EveryModel, ::testing::ValuesIn(model_names()),
                         [](const auto& test) {
                           std::string name = test.param;
                           for (char& c : name) {
                             if (c == '-' || c == '.') c = '_';
                           }
                           return name;
                         });

TEST(BoundProperty, ASingleLayerCostsAsMuchToPredictAsManyAndScalesExactly) {
  // gpt3-175b has 96 layers in one block: the report has as many rows as gpt2's 12 layers.
  Request request;
  request.gpu = "b200-sxm";
  request.predictor = "bound";
  request.model = "gpt2";
  const auto small = testing::embedded_session().predict(request);
  request.model = "gpt3-175b";
  const auto large = testing::embedded_session().predict(request);
  ASSERT_TRUE(small && large);
  EXPECT_EQ(small->operators.size(), large->operators.size());
}

TEST(BoundProperty, EveryGpuOfTheCatalogueAnswers) {
  const Catalog catalog = Catalog::embedded();
  for (const auto& entry : hardware::gpu_entries(catalog)) {
    Request request;
    request.model = "gpt2";
    request.gpu = entry.id;
    request.predictor = "bound";
    const auto report = testing::embedded_session().predict(request);
    ASSERT_TRUE(report) << entry.id << ": " << to_string(report.error());
    EXPECT_GT(report->latency.total_ms, 0);
  }
}

}  // namespace
}  // namespace rooftile
