// SPDX-License-Identifier: Apache-2.0
//
// The functions behind the rules of lint.h; each reports through `Report` under its own id.
#pragma once

#include <cmath>
#include <map>
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

/// The rule whose findings are refused and not only warned of.
constexpr std::string_view kUnitSlip = "unit-slip";

/// What a GPU, or a link, of 2010 to 2035 can have; a wrong prefix (k, M, G, T) falls outside.
struct Plausible {
  double low, high;
  std::string_view unit;
};

bool is_within(double value, const Plausible& range);

/// Links of one GPU.
constexpr Plausible kLink{1e9, 5e12, "B/s"};

/// Reports a value out of the range, and the prefix that would put it right.
void expect(double value, const Plausible& range, std::string_view pointer, LintReport& report);

/// Beyond this factor rounding, another clock or a figure with sparsity do not explain a number.
constexpr double kSlip = 100.0;

/// Reports a value that is more than kSlip times `expected`, or less than a kSlip-th of it.
struct Expected {
  double value = 0;  ///< in the unit of what is compared
  std::string what;  ///< "the data sheet's 3.35 TB/s"
};
void expect_near(double value, const Expected& expected, std::string_view pointer,
                 LintReport& report);

/// How far two documents may differ by rounding.
constexpr double kRounding = 0.02;

inline bool near(double value, double expected, double tolerance) {
  return std::abs(value - expected) <= tolerance * expected;
}

/// FLOP/s of a GPU, or FLOP per clock of an SM.
using Rates = std::map<RateKey, double>;
Rates rates_of(const GpuSpec& gpu);

// lint_rates.cpp
void check_peak_product(const GpuSpec& gpu, LintReport& report);
void check_peak_twice(const GpuSpec& gpu, LintReport& report);
void check_peak_half(const GpuSpec& gpu, LintReport& report);
void check_arch_rate(const GpuSpec& gpu, LintReport& report);
void check_fp32_lanes(const GpuSpec& gpu, LintReport& report);
void check_tensor_ratio(const GpuSpec& gpu, LintReport& report);
void check_tensor_ratio(const Rates& rates, std::string_view section, LintReport& report);
void check_accumulate(const GpuSpec& gpu, LintReport& report);
void check_clock_order(const GpuSpec& gpu, LintReport& report);
void check_power(const GpuSpec& gpu, LintReport& report);
void check_warps(const GpuSpec& gpu, LintReport& report);

// lint_units.cpp
void check_unit_slip(const GpuSpec& gpu, LintReport& report);

// lint_memory.cpp
void check_dram_product(const GpuSpec& gpu, LintReport& report);
void check_dram_factor(const GpuSpec& gpu, LintReport& report);
void check_ridge(const GpuSpec& gpu, LintReport& report);
void check_bandwidth_order(const GpuSpec& gpu, LintReport& report);
void check_latency_order(const GpuSpec& gpu, LintReport& report);
void check_measured_above(const GpuSpec& gpu, LintReport& report);
void check_measured_below(const GpuSpec& gpu, LintReport& report);
void check_shared(const GpuSpec& gpu, LintReport& report);
void check_line_sector(const GpuSpec& gpu, LintReport& report);
void check_link_product(const GpuSpec& gpu, LintReport& report);

// lint_architecture.cpp
void check_architecture(const GpuSpec& gpu, LintReport& report);
void check_rate_unchecked(const GpuSpec& gpu, LintReport& report);
void check_tensor_vector(const GpuSpec& gpu, LintReport& report);
void check_tensor_vector(const Rates& rates, std::string_view section, LintReport& report);
void check_sm_limits(const GpuSpec& gpu, LintReport& report);
void check_l2_die(const GpuSpec& gpu, LintReport& report);
void check_dram_type(const GpuSpec& gpu, LintReport& report);
void check_dram_rate(const GpuSpec& gpu, LintReport& report);
void check_dram_capacity(const GpuSpec& gpu, LintReport& report);

}  // namespace rooftile::hardware
