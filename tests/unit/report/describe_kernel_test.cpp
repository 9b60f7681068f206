// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "written.h"

namespace rooftile::report {
namespace {

KernelsReport report_of(const KernelReport& kernel) {
  return {.kernels = {kernel},
          .rates = {{"bf16_tensor", 100e12}, {"dram", 2e12}},
          .provenance = {},
          .warnings = {}};
}

std::string text_of(const KernelReport& kernel) {
  return written("text", report_of(kernel));
}

// The bound is DRAM's 2 ms; the predicted 5 ms are limited by compute.
TEST(DescribeKernel, BoundNamesItsOwnLimiter) {
  KernelReport kernel;
  kernel.row.provenance = "analytical";
  kernel.row.limiter = "compute";
  kernel.row.latency_ms = 5;
  kernel.row.bound_ms = 2;
  kernel.terms = {{.limiter = "compute", .ms = 1, .arithmetic = ""},
                  {.limiter = "dram", .ms = 2, .arithmetic = ""}};
  const std::string text = text_of(kernel);
  EXPECT_NE(text.find("bound      2.00 ms, limited by dram"), std::string::npos) << text;
  EXPECT_NE(text.find("limiter    compute\n"), std::string::npos) << text;
}

TEST(DescribeKernel, ABaselineStatesNoInterval) {
  KernelReport kernel;
  kernel.row.provenance = "learned";
  kernel.row.latency_ms = kernel.row.low_ms = kernel.row.high_ms = 5;
  kernel.terms = {{.limiter = "dram", .ms = 2, .arithmetic = ""}};
  EXPECT_NE(text_of(kernel).find("(no interval; learned)"), std::string::npos) << text_of(kernel);
  EXPECT_NE(written("json", report_of(kernel)).find("\"low_ms\": 5"), std::string::npos);
  EXPECT_NE(written("csv", report_of(kernel)).find(",5,5,5,"), std::string::npos);
  kernel.row.low_ms = 4, kernel.row.high_ms = 6;
  EXPECT_NE(text_of(kernel).find("(80 % interval 4.00 ms to 6.00 ms; learned)"), std::string::npos)
      << text_of(kernel);
  EXPECT_NE(written("json", report_of(kernel)).find("\"low_ms\": 4"), std::string::npos);
}

// 4 ms of 300 GFLOP at 75 % of 100 TFLOP/s; 2 ms of 3.6 GB at 90 % of 2 TB/s.
TEST(DescribeKernel, TermsShowTheirArithmetic) {
  KernelReport kernel;
  kernel.row.provenance = "learned";
  kernel.row.rate = "bf16_tensor";
  kernel.row.latency_ms = 5;
  kernel.row.flops = 300e9;
  kernel.row.traffic.dram = 3.6e9;
  kernel.row.breakdown = {.terms_ms = {{"compute", 4}, {"dram", 2}, {"launch", 0.003}},
                          .efficiency = {{"compute", 0.75}, {"dram", 0.9}},
                          .join = 2.5,
                          .residual = 1.1};
  const std::string text = text_of(kernel);
  for (const char* part :
       {"joined with exponent 2.5, x 1.1, + launch", "300 GFLOP at 75 % of 100 TFLOP/s",
        "3.60 GB at 90 % of 2.00 TB/s", "  launch "}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << " in\n" << text;
  }
  const std::string json = written("json", report_of(kernel));
  for (const char* part : {"\"join\": 2.5", "\"residual\": 1.1", "\"dram\": 0.9"}) {
    EXPECT_NE(json.find(part), std::string::npos) << part << " in\n" << json;
  }
  kernel.row.breakdown.join.reset();
  EXPECT_NE(text_of(kernel).find("which overlap: the longest counts"), std::string::npos);
}

TEST(DescribeKernel, AloneStandsBesideTheStreamsTime) {
  KernelReport kernel;
  kernel.row.provenance = "learned";
  kernel.row.latency_ms = kernel.row.low_ms = kernel.row.high_ms = 5;
  kernel.isolated = {.latency_ms = 7, .low_ms = 6, .high_ms = 8, .host_ms = 2};
  const std::string text = text_of(kernel);
  EXPECT_NE(text.find("in a step  5.00 ms"), std::string::npos) << text;
  EXPECT_NE(
      text.find("alone      7.00 ms (80 % interval 6.00 ms to 8.00 ms; 2.00 ms of it the host)"),
      std::string::npos)
      << text;
  EXPECT_NE(written("json", report_of(kernel)).find("\"isolated\""), std::string::npos);
}

}  // namespace
}  // namespace rooftile::report
