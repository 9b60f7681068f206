// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <array>

#include "core/text.h"
#include "hardware/lint_checks.h"

namespace rooftile::hardware {

namespace {

/// Tensor peaks are quoted at clocks up to 13 % below boost (H100 NVL) that are not documented.
constexpr double kClockSlack = 0.14;

std::string pointer(std::string_view section, RateKey key) {
  return fmt::format("/{}/{}", section, name_of(key));
}

/// FP64 tensor peaks are quoted at the boost clock like the vector ones
/// (H100: 66.9 TFLOP/s = 132 x 256 x 1.98 GHz), all other tensor peaks at the tensor clock.
Hertz clock_of(const GpuSpec& gpu, RateKey key) {
  const bool tensor = key.pipe == Pipe::Tensor && key.dtype != DType::Fp64;
  return tensor ? gpu.clock.tensor.value_or(gpu.clock.boost) : gpu.clock.boost;
}

enum class Verdict : std::uint8_t { Agrees, Twice, Half, Differs };

struct PeakCheck {
  Verdict verdict;
  std::string message;
};

PeakCheck compare_peak(const GpuSpec& gpu, RateKey key, FlopsPerSecond peak) {
  const auto it = gpu.sm.flop_per_clock.find(key);
  if (it == gpu.sm.flop_per_clock.end()) return {Verdict::Agrees, {}};
  const Hertz clock = clock_of(gpu, key);
  const double expected = static_cast<double>(gpu.sm.count) * it->second * clock.base();
  const double ratio = peak.base() / expected;
  const std::string message =
      fmt::format("{} is {}; {} SMs x {} FLOP/clk x {:.4g} MHz = {}", name_of(key),
                  format_rate(peak, 4), gpu.sm.count, it->second, clock.base() / 1e6,
                  format_rate(FlopsPerSecond::from_base(expected), 4));
  // Wide enough that a mistake of two is one also for peaks at undocumented clocks (H100 NVL).
  constexpr double kFactorSlack = 0.2;
  if (near(ratio, 1.0, kRounding)) return {Verdict::Agrees, {}};
  if (near(ratio, 2.0, kFactorSlack)) return {Verdict::Twice, message};
  if (near(ratio, 0.5, kFactorSlack)) return {Verdict::Half, message};
  return {Verdict::Differs, fmt::format("{} ({:+.1f} %)", message, (ratio - 1.0) * 100.0)};
}

void report_verdict(const GpuSpec& gpu, Verdict wanted, std::string_view advice,
                    LintReport& report) {
  for (const auto& [key, peak] : gpu.peak) {
    const PeakCheck check = compare_peak(gpu, key, peak);
    if (check.verdict == wanted)
      report.add(pointer("peak", key), fmt::format("{}{}", check.message, advice));
  }
}

bool is_halved_on_geforce(RateKey key) {
  if (key.pipe != Pipe::Tensor) return false;
  switch (key.dtype) {
    case DType::Tf32:
    case DType::Fp16:
    case DType::Bf16:
    case DType::Fp8E4m3:
    case DType::Fp8E5m2: return true;
    case DType::Fp64:
    case DType::Fp32:
    case DType::Fp4:
    case DType::Int32:
    case DType::Int64:
    case DType::Int8:
    case DType::Bool: return false;
  }
  return false;
}

std::optional<double> rate_of(const Rates& rates, DType dtype) {
  const auto it = rates.find({.dtype = dtype, .pipe = Pipe::Tensor});
  return it == rates.end() ? std::nullopt : std::optional(it->second);
}

}  // namespace

void check_peak_product(const GpuSpec& gpu, LintReport& report) {
  report_verdict(gpu, Verdict::Differs, "", report);
}

void check_peak_twice(const GpuSpec& gpu, LintReport& report) {
  report_verdict(gpu, Verdict::Twice, ": twice the product, a figure with sparsity?", report);
}

void check_peak_half(const GpuSpec& gpu, LintReport& report) {
  report_verdict(gpu, Verdict::Half, ": half the product, multiply-adds counted once?", report);
}

void check_arch_rate(const GpuSpec& gpu, LintReport& report) {
  const bool geforce = gpu.name.find("GeForce") != std::string::npos;
  for (const auto& [key, peak] : gpu.peak) {
    const auto table = gpu.arch.sm.flop_per_clock.find(key);
    if (table == gpu.arch.sm.flop_per_clock.end()) continue;
    const double expected =
        geforce && is_halved_on_geforce(key) ? table->second / 2 : table->second;
    const auto stated = gpu.sm.flop_per_clock.find(key);
    if (stated != gpu.sm.flop_per_clock.end()) {
      if (stated->second != expected)
        report.add(pointer("sm/flop_per_clock", key),
                   fmt::format("{} does {} FLOP/clk/SM in {}, the file says {}", gpu.isa, expected,
                               name_of(key), stated->second));
      continue;
    }
    const double implied =
        peak.base() / (static_cast<double>(gpu.sm.count) * clock_of(gpu, key).base());
    if (!near(implied, expected, kClockSlack))
      report.add(pointer("peak", key),
                 fmt::format("{} does {} FLOP/clk/SM in {}, the peak implies {:.4g}", gpu.isa,
                             expected, name_of(key), implied));
  }
}

void check_fp32_lanes(const GpuSpec& gpu, LintReport& report) {
  const auto it = gpu.sm.flop_per_clock.find({.dtype = DType::Fp32, .pipe = Pipe::Vector});
  if (it == gpu.sm.flop_per_clock.end()) return;
  const double expected = 2.0 * static_cast<double>(gpu.sm.fp32_lanes);
  if (it->second != expected)
    report.add("/sm/fp32_lanes", fmt::format("{} lanes do {} FLOP/clk (one multiply-add each), "
                                             "flop_per_clock.fp32 says {}",
                                             gpu.sm.fp32_lanes, expected, it->second));
}

Rates rates_of(const GpuSpec& gpu) {
  Rates rates;
  for (const auto& [key, peak] : gpu.peak) rates.emplace(key, peak.base());
  return rates;
}

void check_tensor_ratio(const GpuSpec& gpu, LintReport& report) {
  check_tensor_ratio(rates_of(gpu), "peak", report);
}

void check_tensor_ratio(const Rates& rates, std::string_view section, LintReport& report) {
  struct Ratio {
    DType dtype, base;
    std::array<double, 3> allowed;
  };
  // Halving the width doubles the rate; BF16 is half of FP16 on CDNA 1, FP4 three times FP8 on
  // Blackwell Ultra.
  static constexpr std::array<Ratio, 5> kRatios{{
      {DType::Bf16, DType::Fp16, {1.0, 0.5, 1.0}},
      {DType::Tf32, DType::Fp16, {0.5, 0.5, 0.5}},
      {DType::Fp8E4m3, DType::Fp16, {2.0, 1.0, 2.0}},
      {DType::Fp8E5m2, DType::Fp16, {2.0, 1.0, 2.0}},
      {DType::Fp4, DType::Fp8E4m3, {2.0, 3.0, 4.0}},
  }};
  for (const Ratio& ratio : kRatios) {
    const auto value = rate_of(rates, ratio.dtype);
    const auto base = rate_of(rates, ratio.base);
    if (!value || !base) continue;
    const double found = *value / *base;
    bool fits = false;
    for (const double allowed : ratio.allowed) fits = fits || near(found, allowed, kRounding);
    if (!fits)
      report.add(pointer(section, {.dtype = ratio.dtype, .pipe = Pipe::Tensor}),
                 fmt::format("{} runs at {:.3g} times the {} tensor rate, expected {:.3g}",
                             name_of(ratio.dtype), found, name_of(ratio.base), ratio.allowed[0]));
  }
}

void check_accumulate(const GpuSpec& gpu, LintReport& report) {
  for (const auto& [key, fast] : gpu.peak_fp16_accumulate) {
    const auto it = gpu.peak.find(key);
    const bool known = it != gpu.peak.end();
    if (!known || !near(fast / it->second, 2.0, kRounding))
      report.add(
          pointer("peak_fp16_accumulate", key),
          fmt::format("{} with FP16 accumulation is {}, expected twice the rate in peak ({})",
                      name_of(key), format_rate(fast, 4),
                      known ? format_rate(it->second, 4) : "absent"));
  }
}

void check_clock_order(const GpuSpec& gpu, LintReport& report) {
  const auto mhz = [](Hertz clock) { return clock.base() / 1e6; };
  if (gpu.clock.base && *gpu.clock.base > gpu.clock.boost)
    report.add("/clock/base", fmt::format("base {:.4g} MHz is above boost {:.4g} MHz",
                                          mhz(*gpu.clock.base), mhz(gpu.clock.boost)));
  if (gpu.clock.tensor && *gpu.clock.tensor > gpu.clock.boost)
    report.add("/clock/tensor", fmt::format("tensor {:.4g} MHz is above boost {:.4g} MHz",
                                            mhz(*gpu.clock.tensor), mhz(gpu.clock.boost)));
}

void check_power(const GpuSpec& gpu, LintReport& report) {
  // In the catalogue from 26 (TITAN X, Maxwell) to 421 GFLOP/s/W (L4).
  constexpr double kLeast = 8.0;
  constexpr double kMost = 1200.0;
  const auto it = gpu.peak.find({.dtype = DType::Fp32, .pipe = Pipe::Vector});
  if (!gpu.power_watt || it == gpu.peak.end()) return;
  const double efficiency = it->second.base() / 1e9 / *gpu.power_watt;
  if (efficiency < kLeast || efficiency > kMost)
    report.add("/power",
               fmt::format("{} W for {} FP32 is {:.0f} GFLOP/s per watt, expected {} to {}",
                           *gpu.power_watt, format_rate(it->second, 3), efficiency, kLeast, kMost));
}

void check_warps(const GpuSpec& gpu, LintReport& report) {
  if (!gpu.sm.max_warps || !gpu.sm.max_threads) return;
  const std::int64_t threads = *gpu.sm.max_warps * gpu.sm.warp_size;
  if (threads != *gpu.sm.max_threads)
    report.add("/sm/max_threads",
               fmt::format("{} warps of {} are {} threads, the file says {}", *gpu.sm.max_warps,
                           gpu.sm.warp_size, threads, *gpu.sm.max_threads));
}

}  // namespace rooftile::hardware
