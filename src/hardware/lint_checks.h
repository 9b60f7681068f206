// SPDX-License-Identifier: Apache-2.0
//
// The functions behind the rules of lint.h; each reports through `Report` under its own id.
#pragma once

#include <cmath>
#include <string>
#include <string_view>
#include <vector>

#include "hardware/lint.h"

namespace rooftile::hardware {

/// Collects the findings of one rule.
class LintReport {
 public:
  LintReport(std::string_view rule, std::vector<LintFinding>& findings)
      : rule_(rule), findings_(findings) {}
  void add(std::string pointer, std::string message) {
    findings_.push_back({.rule = std::string(rule_),
                         .pointer = std::move(pointer),
                         .message = std::move(message),
                         .allowed = {}});
  }

 private:
  std::string_view rule_;
  std::vector<LintFinding>& findings_;
};

/// How far two documents may differ by rounding.
constexpr double kRounding = 0.02;

inline bool near(double value, double expected, double tolerance) {
  return std::abs(value - expected) <= tolerance * expected;
}

// lint_rates.cpp
void check_peak_product(const GpuSpec& gpu, LintReport& report);
void check_peak_twice(const GpuSpec& gpu, LintReport& report);
void check_peak_half(const GpuSpec& gpu, LintReport& report);
void check_arch_rate(const GpuSpec& gpu, LintReport& report);
void check_fp32_lanes(const GpuSpec& gpu, LintReport& report);
void check_tensor_ratio(const GpuSpec& gpu, LintReport& report);
void check_accumulate(const GpuSpec& gpu, LintReport& report);
void check_clock_order(const GpuSpec& gpu, LintReport& report);
void check_power(const GpuSpec& gpu, LintReport& report);
void check_warps(const GpuSpec& gpu, LintReport& report);

// lint_memory.cpp
void check_unit_slip(const GpuSpec& gpu, LintReport& report);
void check_dram_product(const GpuSpec& gpu, LintReport& report);
void check_dram_factor(const GpuSpec& gpu, LintReport& report);
void check_ridge(const GpuSpec& gpu, LintReport& report);
void check_bandwidth_order(const GpuSpec& gpu, LintReport& report);
void check_latency_order(const GpuSpec& gpu, LintReport& report);
void check_measured(const GpuSpec& gpu, LintReport& report);
void check_shared(const GpuSpec& gpu, LintReport& report);
void check_line_sector(const GpuSpec& gpu, LintReport& report);
void check_link_product(const GpuSpec& gpu, LintReport& report);

// lint_architecture.cpp
void check_architecture(const GpuSpec& gpu, LintReport& report);
void check_rate_unchecked(const GpuSpec& gpu, LintReport& report);
void check_tensor_vector(const GpuSpec& gpu, LintReport& report);
void check_sm_limits(const GpuSpec& gpu, LintReport& report);
void check_l2_die(const GpuSpec& gpu, LintReport& report);
void check_dram_type(const GpuSpec& gpu, LintReport& report);
void check_dram_rate(const GpuSpec& gpu, LintReport& report);
void check_dram_capacity(const GpuSpec& gpu, LintReport& report);

}  // namespace rooftile::hardware
