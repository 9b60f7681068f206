// SPDX-License-Identifier: Apache-2.0
//
// What-if machines against measured ones: a GPU that is scaled to the data sheet of another, on the
// rows that were measured on that other one, is at most two points worse than its direct
// prediction.
#include <gtest/gtest.h>

#include <cmath>

#include "calibration/evaluate.h"
#include "cost/learned/classes.h"
#include "hardware/factors.h"
#include "shared_data.h"

namespace rooftile {
namespace {

using hardware::MachineKey;

/// The factors that turn the data sheet of one GPU into that of another.
hardware::Factors factors_between(const hardware::GpuSpec& from, const hardware::GpuSpec& to) {
  hardware::Factors factors;
  factors.set(MachineKey::Sms,
              static_cast<double>(to.sm.count) / static_cast<double>(from.sm.count));
  factors.set(MachineKey::Clock, to.clock.boost / from.clock.boost);
  factors.set(MachineKey::L2Size, *to.l2.size / *from.l2.size);
  factors.set(MachineKey::DramBandwidth, *to.dram.bandwidth / *from.dram.bandwidth);
  return factors;
}

/// Mean |predicted / measured - 1| of the rows of a class that were not measured warm.
double error_of(const calibration::Dataset& dataset, const cost::Predictor& predictor,
                std::string_view name) {
  double sum = 0;
  double count = 0;
  for (const auto& row : calibration::evaluate(dataset, predictor, {}).cases) {
    const calibration::Sample& sample = dataset.samples[row.sample];
    if (cost::learned::class_of(sample.work) != name ||
        dataset.campaigns[sample.campaign] == calibration::kWarmCampaign)
      continue;
    sum += std::fabs(row.predicted / row.measured - 1);
    count += 1;
  }
  EXPECT_GT(count, 200);
  return sum / count;
}

void expect_near_direct(const std::string& file, std::string_view name, std::string_view base,
                        std::string_view measured) {
  if (!testing::has_shared_data(file)) GTEST_SKIP() << "no " << file;
  const Catalog catalog = Catalog::embedded();
  const std::vector<std::string> files{(testing::shared_data() / file).string()};
  auto dataset = calibration::read_datasets(files, catalog).value();
  std::vector<calibration::Sample> kept;
  std::size_t seen = 0;
  for (const calibration::Sample& sample : dataset.samples) {
    if (dataset.machines[sample.gpu].gpu.id == measured && seen++ % 7 == 0) kept.push_back(sample);
  }
  dataset.samples = std::move(kept);
  const auto predictor = cost::make_predictor("", catalog).value();
  const double direct = error_of(dataset, *predictor, name);
  const auto from = hardware::load_machine(catalog, base, std::nullopt).value();
  for (hardware::Machine& machine : dataset.machines) {
    if (machine.gpu.id == measured)
      machine = hardware::scaled(from, factors_between(from.gpu, machine.gpu));
  }
  const double scaled = error_of(dataset, *predictor, name);
  EXPECT_LE(scaled, direct + 0.02) << base << " scaled to " << measured;
}

TEST(WhatIf, H100ScaledToH200) {
  expect_near_direct("aiconfigurator/gemm_h200_sxm.csv", "linear_16bit", "h100-sxm", "h200-sxm");
}

TEST(WhatIf, H200ScaledToH100) {
  expect_near_direct("aiconfigurator/gemm_h100_sxm.csv", "linear_16bit", "h200-sxm", "h100-sxm");
}

// The 80 GB board has no rows in FP32, the 40 GB one has.
TEST(WhatIf, A100Of80GbScaledTo40Gb) {
  expect_near_direct("neusight/nvidia/linear.csv", "linear", "a100-sxm-80gb", "a100-pcie-40gb");
}

}  // namespace
}  // namespace rooftile
