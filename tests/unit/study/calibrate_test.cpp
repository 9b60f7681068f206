// SPDX-License-Identifier: Apache-2.0
#include "rooftile/calibrate.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "cost/predictor.h"
#include "embedded_session.h"
#include "hardware/machine.h"
#include "rooftile/kernel.h"
#include "rooftile/report.h"
#include "rooftile/rooftile.h"
#include "rooftile/traffic.h"
#include "temporary_folder.h"

namespace rooftile {
namespace {

constexpr const char* kGpu = "a100-sxm-80gb";

/// The in-stream time of a product, as `kernel` says it.
double product_ms(std::int64_t m, std::int64_t n, std::int64_t k,
                  const std::optional<std::string>& machine = {}, double* width = nullptr) {
  KernelRequest request;
  request.op = GemmShape{.batch = 1, .m = m, .n = n, .k = k};
  request.gpu = kGpu;
  request.dtype = "bf16";
  request.machine = machine;
  const auto report = testing::embedded_session().kernel(request);
  if (!report) {
    ADD_FAILURE() << report.error().message;
    return 0;
  }
  const auto& row = report->kernels.front().row;
  if (width != nullptr) *width = row.high_ms / row.low_ms;
  return row.latency_ms;
}

/// Products that take `factor` as long as predicted, as the plain layout has them.
std::string slow_products(double factor, int rows = 12) {
  std::string csv = "kernel,shape,dtype,latency_ms\n";
  for (int i = 0; i < rows; ++i) {
    const std::int64_t m = 512 << (i % 4), n = 2048 + 1024 * (i % 3), k = 1024 << (i % 3);
    csv += fmt::format("gemm,{}x{}x{},bf16,{:.6f}\n", m, n, k, factor * product_ms(m, n, k));
  }
  return csv;
}

class Calibrate : public ::testing::Test {
 protected:
  Result<CalibrateReport> calibrate(const std::vector<std::string>& files) const {
    return testing::embedded_session().calibrate(
        {.files = files, .gpu = kGpu, .date = "2026-11-18"});
  }
  std::string machine_file(const CalibrateReport& report) const {
    return folder.write("machine.json", report.machine_file);
  }
  testing::TemporaryFolder folder;
};

TEST_F(Calibrate, RowsOfASlowerMachineSlowTheRestDown) {
  const auto report = calibrate({folder.write("rows.csv", slow_products(1.25))});
  ASSERT_TRUE(report) << report.error().message;
  ASSERT_EQ(report->families.size(), 1u);
  const CalibratedFamily& family = report->families.front();
  EXPECT_EQ(family.family, "linear_16bit");
  EXPECT_EQ(family.rows, 12);
  EXPECT_NEAR(family.error_before, 0.2, 0.01);  // 1 / 1.25 - 1
  EXPECT_LT(family.error_after, 0.02);
  ASSERT_TRUE(family.error_left_out);
  EXPECT_LT(*family.error_left_out, 0.04);
  // A product between those that were measured.
  const double before = product_ms(1024, 2048, 2048);
  double narrow = 0, wide = 0;
  product_ms(1024, 2048, 2048, {}, &wide);
  const double after = product_ms(1024, 2048, 2048, machine_file(*report), &narrow);
  EXPECT_NEAR(after / before, 1.25, 0.04);
  EXPECT_LT(narrow, wide);
}

TEST_F(Calibrate, ThreeRowsDoNotRunAway) {
  // One of three rows is a slip by a factor of ten.
  std::string csv = "kernel,shape,dtype,latency_ms\n";
  csv += fmt::format("gemm,1024x4096x4096,bf16,{:.6f}\n", product_ms(1024, 4096, 4096));
  csv += fmt::format("gemm,2048x4096x4096,bf16,{:.6f}\n", product_ms(2048, 4096, 4096));
  csv += fmt::format("gemm,4096x4096x1024,bf16,{:.6f}\n", 10 * product_ms(4096, 4096, 1024));
  const auto report = calibrate({folder.write("rows.csv", csv)});
  ASSERT_TRUE(report) << report.error().message;
  const double ratio =
      product_ms(1024, 4096, 2048, machine_file(*report)) / product_ms(1024, 4096, 2048);
  EXPECT_LT(ratio, 1.5);
  EXPECT_GT(ratio, 0.9);
}

TEST_F(Calibrate, OtherFamiliesKeepWhatNoRowTells) {
  const auto report = calibrate({folder.write("rows.csv", slow_products(1.25))});
  ASSERT_TRUE(report);
  // A copy does not depend on the clock of products: DRAM is not told.
  for (const CalibratedNumber& number : report->numbers) {
    if (number.name == "host") {
      EXPECT_LT(number.told, 0.01);
    }
  }
  KernelRequest request;
  request.op = VectorOperator{.kind = "elementwise", .shape = {65536, 4096}, .function = "add"};
  request.gpu = kGpu;
  request.dtype = "bf16";
  const auto before = testing::embedded_session().kernel(request);
  request.machine = machine_file(*report);
  const auto after = testing::embedded_session().kernel(request);
  ASSERT_TRUE(before && after);
  const auto& a = before->kernels.front().row;
  const auto& b = after->kernels.front().row;
  EXPECT_NEAR(b.latency_ms / a.latency_ms, 1.0, 0.06);
  EXPECT_NEAR(std::log(b.high_ms / b.latency_ms), std::log(a.high_ms / a.latency_ms), 1e-4);
}

TEST_F(Calibrate, OneStepCorrectsItsLike) {
  Request step;
  step.model = "gpt2";
  step.gpu = kGpu;
  step.phase = "prefill";
  step.batch = 8;
  step.sequence = 1024;
  step.dtype = "bf16";
  const auto before = testing::embedded_session().predict(step);
  ASSERT_TRUE(before);
  const auto report = testing::embedded_session().calibrate(
      {.gpu = kGpu,
       .steps = {{.step = step, .measured_ms = 1.2 * before->latency.total_ms}},
       .date = "2026-11-18"});
  ASSERT_TRUE(report) << report.error().message;
  step.machine = machine_file(*report);
  const auto same = testing::embedded_session().predict(step);
  ASSERT_TRUE(same) << same.error().message;
  // One step may be an odd one: three quarters of what it says are believed, exp(0.74 ln 1.2).
  const double moved = same->latency.total_ms / before->latency.total_ms;
  EXPECT_GT(moved, 1.08);
  EXPECT_LT(moved, 1.18);
  EXPECT_NE(same->roofs.find("calibrated by 1 step"), std::string::npos) << same->roofs;
  step.batch = 16;
  step.machine.reset();
  const auto twice = testing::embedded_session().predict(step);
  step.machine = folder.file("machine.json");
  const auto calibrated = testing::embedded_session().predict(step);
  ASSERT_TRUE(twice && calibrated);
  EXPECT_NEAR(calibrated->latency.total_ms / twice->latency.total_ms, moved, 0.03);
}

/// The same kernel has one time in every command, calibrated or not.
TEST_F(Calibrate, OneNumberEverywhere) {
  const auto report = calibrate({folder.write("rows.csv", slow_products(1.2))});
  ASSERT_TRUE(report);
  Request step;
  step.model = "gpt2";
  step.gpu = kGpu;
  step.phase = "prefill";
  step.batch = 4;
  step.sequence = 512;
  step.dtype = "bf16";
  step.machine = machine_file(*report);
  const auto predicted = testing::embedded_session().predict(step);
  TrafficRequest traffic;
  traffic.step = step;
  const auto counted = testing::embedded_session().traffic(traffic);
  ASSERT_TRUE(predicted && counted);
  EXPECT_NEAR(counted->total_ms / predicted->latency.total_ms, 1, 1e-9);
}

TEST_F(Calibrate, TheFileIsReadBackAsItWasWritten) {
  const auto report = calibrate({folder.write("rows.csv", slow_products(1.1, 5))});
  ASSERT_TRUE(report);
  const auto ceilings = hardware::parse_ceilings(report->machine_file, "machine.json");
  ASSERT_TRUE(ceilings) << ceilings.error().message;
  ASSERT_TRUE(ceilings->calibration);
  EXPECT_EQ(ceilings->calibration->rows.size(), 5u);
  EXPECT_EQ(hardware::to_json(*ceilings), report->machine_file);
}

TEST_F(Calibrate, CollectivesMoveTheLinks) {
  const auto links = testing::embedded_session().predictor("").value()->constants().links;
  std::string csv = "op_name,nccl_dtype,num_gpus,message_size,latency\n";
  for (const std::int64_t size : {1 << 10, 1 << 16, 1 << 22, 1 << 26})
    csv += fmt::format("all_reduce,half,8,{},{:.6f}\n", size,
                       0.03 + static_cast<double>(size) * 7 / 300e6);
  const auto report = calibrate({folder.write("nccl_a100_sxm.csv", csv)});
  ASSERT_TRUE(report) << report.error().message;
  ASSERT_EQ(report->families.size(), 1u);
  EXPECT_EQ(report->families.front().family, "all_reduce");
  EXPECT_LT(report->families.front().error_after, report->families.front().error_before);
  EXPECT_GT(links.fabric.efficiency, 0);
}

TEST_F(Calibrate, OtherPredictorsSayThatTheyDoNotUseIt) {
  const auto report = calibrate({folder.write("rows.csv", slow_products(1.2))});
  ASSERT_TRUE(report);
  Request step;
  step.model = "gpt2";
  step.gpu = kGpu;
  step.machine = machine_file(*report);
  step.predictor = "roofline";
  const auto predicted = testing::embedded_session().predict(step);
  ASSERT_TRUE(predicted);
  const bool said = std::any_of(
      predicted->warnings.begin(), predicted->warnings.end(),
      [](const std::string& w) { return w.find("does not use it") != std::string::npos; });
  EXPECT_TRUE(said);
}

TEST_F(Calibrate, WrongInputsAreErrors) {
  EXPECT_FALSE(calibrate({}));
  EXPECT_FALSE(calibrate({folder.write("a.csv",
                                       "kernel,shape,dtype,latency_ms\n"
                                       "gemm,4096x4096,bf16,1\n")}));
  EXPECT_FALSE(calibrate({folder.write("b.csv",
                                       "kernel,shape,dtype,latency_ms\n"
                                       "fft,4096x4096,bf16,1\n")}));
  EXPECT_FALSE(calibrate({folder.write("c.csv",
                                       "kernel,shape,dtype,latency_ms\n"
                                       "attention,1x8x8x8x8x8,bf16,1\n")}));
  EXPECT_FALSE(calibrate({folder.write("d.txt", "nothing\n")}));
  const auto other = calibrate({folder.write("e.csv",
                                             "op,device,latency_ms,b,m,n,k\n"
                                             "linear,Tesla T4,1,1,64,64,64\n")});
  ASSERT_FALSE(other);
  EXPECT_NE(other.error().message.find("no row of a100-sxm-80gb"), std::string::npos);
}

TEST(Suggest, OneOfEveryFamilyFirst) {
  const auto report = testing::embedded_session().suggest({.gpu = "h100-sxm", .count = 30});
  ASSERT_TRUE(report) << report.error().message;
  ASSERT_EQ(report->kernels.size(), 30u);
  std::set<std::string> families, limiters;
  for (std::size_t i = 0; i < 20; ++i) {
    families.insert(report->kernels[i].family);
    limiters.insert(report->kernels[i].limiter);
  }
  EXPECT_GE(families.size(), 7u);
  EXPECT_TRUE(limiters.contains("compute"));
  EXPECT_TRUE(limiters.contains("dram"));
  EXPECT_TRUE(limiters.contains("launch"));
  EXPECT_NE(report->script.find("--gpu h100-sxm"), std::string::npos);
}

}  // namespace
}  // namespace rooftile
