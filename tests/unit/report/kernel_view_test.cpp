// SPDX-License-Identifier: Apache-2.0
#include "report/kernel_view.h"

#include <gtest/gtest.h>

namespace rooftile::report {
namespace {

KernelsReport report_of(const KernelReport& kernel) {
  return {.kernels = {kernel}, .provenance = {}, .warnings = {}};
}

std::string text_of(const KernelReport& kernel) {
  return kernels_to_text(report_of(kernel), {.color = false, .width = 100});
}

// The bound is DRAM's 2 ms; the predicted 5 ms are limited by compute.
TEST(KernelView, BoundNamesItsOwnLimiter) {
  KernelReport kernel;
  kernel.row.provenance = "analytical";
  kernel.row.limiter = "compute";
  kernel.row.latency_ms = 5;
  kernel.row.bound_ms = 2;
  kernel.terms = {{.limiter = "compute", .ms = 1, .arithmetic = ""},
                  {.limiter = "dram", .ms = 2, .arithmetic = ""}};
  const std::string text = text_of(kernel);
  EXPECT_NE(text.find("bound      2.00 ms, limited by dram"), std::string::npos) << text;
  EXPECT_NE(text.find("limiter    compute, of the predicted time"), std::string::npos) << text;
  kernel.row.limiter = "dram";
  const std::string same = text_of(kernel);
  EXPECT_EQ(same.find("of the predicted time"), std::string::npos) << same;
}

TEST(KernelView, ABaselineStatesNoInterval) {
  KernelReport kernel;
  kernel.row.provenance = "learned";
  kernel.row.latency_ms = kernel.row.low_ms = kernel.row.high_ms = 5;
  kernel.terms = {{.limiter = "dram", .ms = 2, .arithmetic = ""}};
  EXPECT_NE(text_of(kernel).find("(no interval; learned)"), std::string::npos) << text_of(kernel);
  EXPECT_NE(kernels_to_json(report_of(kernel)).find("\"low_ms\": 5"), std::string::npos);
  EXPECT_NE(kernels_to_csv(report_of(kernel)).find(",5,5,5,"), std::string::npos);
  kernel.row.low_ms = 4, kernel.row.high_ms = 6;
  EXPECT_NE(text_of(kernel).find("(80 % interval 4.00 ms to 6.00 ms; learned)"), std::string::npos)
      << text_of(kernel);
  EXPECT_NE(kernels_to_json(report_of(kernel)).find("\"low_ms\": 4"), std::string::npos);
}

}  // namespace
}  // namespace rooftile::report
