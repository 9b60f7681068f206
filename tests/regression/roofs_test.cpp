// SPDX-License-Identifier: Apache-2.0
//
// The bytes of a row are those of its time: over models and GPUs of every architecture no row of a
// prediction moves more than 102 % of what any level delivers, and a matrix product that says
// "dram" moves at least 60 % of the attained DRAM rate apart from its launches.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <array>
#include <variant>

#include "core/catalog.h"
#include "cost/learned/chip.h"
#include "cost/predictor.h"
#include "embedded_session.h"
#include "hardware/machine.h"
#include "rooftile/request.h"
#include "study/predict.h"

namespace rooftile {
namespace {

constexpr double kOverRoof = 1.02;
constexpr double kLeastOfDram = 0.6;

constexpr std::array kGpus{"m40",  "p4",    "p100-pcie-16gb", "v100-sxm2-16gb", "t4",
                           "a40",  "l4",    "a100-sxm-80gb",  "l40s",           "h100-sxm",
                           "b200", "mi100", "mi210",          "mi300x",         "rtx-5090"};

struct Step {
  const char* model;
  const char* phase;
  std::int64_t batch;
};
constexpr std::array kSteps{Step{"llama3-8b", "prefill", 4},   Step{"llama3-8b", "decode", 8},
                            Step{"gpt2-large", "infer", 4},    Step{"gpt2-large", "decode", 1},
                            Step{"gpt2", "train", 4},          Step{"resnet50", "infer", 16},
                            Step{"mixtral-8x7b", "decode", 4}, Step{"mobilenet-v2", "train", 16}};

class Roofs : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    auto predictor = cost::make_predictor("", catalog_);
    ASSERT_TRUE(predictor) << to_string(predictor.error());
    predictor_ = std::move(*predictor);
    const auto file = cost::learned::read_weights_file(catalog_, "default");
    ASSERT_TRUE(file) << to_string(file.error());
    auto weights = cost::learned::parse_weights(file->content, file->name);
    ASSERT_TRUE(weights) << to_string(weights.error());
    weights_ = std::move(*weights);
  }

  void check_levels(const OperatorReport& row, const hardware::Machine& machine,
                    const std::string& step) {
    if (row.latency_ms == 0) return;  // fused into another kernel
    const std::array levels{std::pair{hardware::MemoryLevel::L1, row.traffic.l1},
                            std::pair{hardware::MemoryLevel::L2, row.traffic.l2},
                            std::pair{hardware::MemoryLevel::Dram, row.traffic.dram}};
    for (const auto& [level, bytes] : levels) {
      const auto roof = machine.bandwidth(level);
      if (!roof) continue;
      EXPECT_LE(bytes / (row.latency_ms * 1e-3), kOverRoof * roof->value.base())
          << step << ": " << row.name << " " << row.shape << " tile " << row.tile << " at "
          << hardware::name_of(level);
      ++checked_;
    }
  }

  /// A product that DRAM limits, without its launches (a split of k has a second one).
  void check_dram(const aggregate::OperatorEstimate& op, const hardware::Machine& machine,
                  const std::string& step) {
    const cost::Estimate& e = op.estimate;
    const bool product = std::holds_alternative<ops::GemmShape>(op.kernel.work.shape);
    if (!product || e.limiter() != cost::Resource::Dram) return;
    const double attained = machine.gpu.dram.bandwidth->base() *
                            cost::streaming_fraction(machine.gpu, weights_.constants.streaming);
    const Seconds running = e.time - e.breakdown.of(cost::Resource::Launch);
    EXPECT_GE((e.traffic.dram() / running).base(), kLeastOfDram * attained)
        << step << ": " << op.kernel.name << " tile " << e.plan.label();
    ++dram_;
  }

  Catalog catalog_ = Catalog::embedded();
  std::unique_ptr<cost::Predictor> predictor_;
  cost::learned::Weights weights_;
  std::size_t checked_ = 0, dram_ = 0;
};

TEST_P(Roofs, NoRowMovesMoreThanItsLevelsDeliver) {
  const auto machine = hardware::load_machine(catalog_, GetParam(), std::nullopt);
  ASSERT_TRUE(machine) << to_string(machine.error());
  for (const Step& step : kSteps) {
    for (const char* dtype : {"fp32", "fp16", "bf16", "fp8_e4m3"}) {
      Request request;
      request.model = step.model, request.phase = step.phase, request.batch = step.batch;
      request.gpu = GetParam(), request.dtype = dtype;
      const auto report = testing::embedded_session().predict(request, *predictor_);
      if (!report) continue;  // no such units
      const std::string name = fmt::format("{} --phase {} --batch {} --dtype {} --gpu {}",
                                           step.model, step.phase, step.batch, dtype, GetParam());
      for (const OperatorReport& row : report->operators) check_levels(row, *machine, name);
      const auto kernels = study::estimate_kernels(request, std::nullopt, *machine,
                                                   testing::embedded_session(), *predictor_);
      ASSERT_TRUE(kernels) << to_string(kernels.error());
      for (const auto& op : kernels->operators) check_dram(op, *machine, name);
    }
  }
  EXPECT_GT(checked_, 20U);
  EXPECT_GT(dram_, 5U);
}

INSTANTIATE_TEST_SUITE_P(Gpus, Roofs, ::testing::ValuesIn(kGpus), [](const auto& gpu) {
  std::string name = gpu.param;
  for (char& c : name) c = c == '-' ? '_' : c;
  return name;
});

}  // namespace
}  // namespace rooftile
