// SPDX-License-Identifier: Apache-2.0
//
// Rules that compare a file with its architecture and its memory type.
#include <fmt/format.h>

#include <array>

#include "core/text.h"
#include "hardware/lint_checks.h"

namespace rooftile::hardware {

void check_architecture(const GpuSpec& gpu, LintReport& report) {
  const auto compare = [&](std::string_view pointer, std::string_view found,
                           std::string_view expected) {
    if (found != expected)
      report.add(std::string(pointer), fmt::format("{} is {}, the file says \"{}\"", gpu.isa,
                                                   expected, printable(found)));
  };
  compare("/architecture", gpu.architecture, gpu.arch.name);
  compare("/vendor", name_of(gpu.vendor), name_of(gpu.arch.vendor));
}

void check_rate_unchecked(const GpuSpec& gpu, LintReport& report) {
  for (const auto& [key, peak] : gpu.peak) {
    if (gpu.sm.flop_per_clock.contains(key) || gpu.arch.sm.flop_per_clock.contains(key)) continue;
    report.add("/peak/" + name_of(key),
               fmt::format("{} cannot be checked: state /sm/flop_per_clock/{}",
                           format_rate(peak, 4), name_of(key)));
  }
}

void check_tensor_vector(const GpuSpec& gpu, LintReport& report) {
  check_tensor_vector(rates_of(gpu), "peak", report);
}

void check_tensor_vector(const Rates& rates, std::string_view section, LintReport& report) {
  struct Ratio {
    RateKey key, base;
    double least = 0, most = 0;
  };
  constexpr RateKey kFp32{.dtype = DType::Fp32, .pipe = Pipe::Vector};
  constexpr RateKey kFp64{.dtype = DType::Fp64, .pipe = Pipe::Vector};
  // In the catalogue FP16 tensor rates are 2 (RTX 5090) to 31 times (GB300) the FP32 rate, other
  // widths in proportion; FP64 is 1/67 (H800) to 1, FP16 1/64 to 4 times.
  static constexpr std::array<Ratio, 11> kRatios{{
      {{DType::Tf32, Pipe::Tensor}, kFp32, 0.45, 18},
      {{DType::Fp16, Pipe::Tensor}, kFp32, 0.9, 36},
      {{DType::Bf16, Pipe::Tensor}, kFp32, 0.9, 36},
      {{DType::Fp8E4m3, Pipe::Tensor}, kFp32, 1.8, 72},
      {{DType::Fp8E5m2, Pipe::Tensor}, kFp32, 1.8, 72},
      {{DType::Int8, Pipe::Tensor}, kFp32, 1.8, 72},
      {{DType::Fp4, Pipe::Tensor}, kFp32, 3.6, 216},
      {{DType::Fp32, Pipe::Tensor}, kFp32, 0.9, 4.1},
      {{DType::Fp64, Pipe::Tensor}, kFp64, 0.9, 2.1},
      {kFp64, kFp32, 0.0136, 1.1},
      {{DType::Fp16, Pipe::Vector}, kFp32, 0.0136, 4.4},
  }};
  for (const Ratio& ratio : kRatios) {
    const auto rate = rates.find(ratio.key);
    const auto base = rates.find(ratio.base);
    if (rate == rates.end() || base == rates.end()) continue;
    const double found = rate->second / base->second;
    if (found < ratio.least || found > ratio.most)
      report.add(fmt::format("/{}/{}", section, name_of(ratio.key)),
                 fmt::format("{} is {:.3g} times {}, expected {:g} to {:g}", name_of(ratio.key),
                             found, name_of(ratio.base), ratio.least, ratio.most));
  }
}

void check_sm_limits(const GpuSpec& gpu, LintReport& report) {
  struct Limit {
    std::string_view name;
    std::optional<std::int64_t> found, expected;
    std::int64_t least, most;  ///< where the architecture states nothing
  };
  const ArchitectureSm& arch = gpu.arch.sm;
  const std::array<Limit, 4> limits{{
      {"warp_size", gpu.sm.warp_size, arch.warp_size, 1, 128},
      {"registers", gpu.sm.registers, arch.registers, 16384, 524288},
      {"max_threads", gpu.sm.max_threads, arch.max_threads, 512, 4096},
      {"max_blocks", gpu.sm.max_blocks, arch.max_blocks, 8, 128},
  }};
  for (const Limit& limit : limits) {
    if (!limit.found) continue;
    const std::string pointer = fmt::format("/sm/{}", limit.name);
    if (limit.expected && *limit.found != *limit.expected)
      report.add(pointer, fmt::format("{} has {} {} per SM, the file says {}", gpu.isa,
                                      *limit.expected, limit.name, *limit.found));
    if (!limit.expected && (*limit.found < limit.least || *limit.found > limit.most))
      report.add(pointer,
                 fmt::format("{} is not between {} and {}", *limit.found, limit.least, limit.most));
  }
}

void check_l2_die(const GpuSpec& gpu, LintReport& report) {
  const auto& dies = gpu.arch.memory.l2;
  if (!dies || !gpu.l2.size) return;
  constexpr double kMiB = 1024.0 * 1024.0;
  if (*gpu.l2.size < dies->least * (1 - kRounding) || *gpu.l2.size > dies->most * (1 + kRounding))
    report.add("/memory/l2/size",
               fmt::format("dies of {} ({}) have {:g} to {:g} MiB, the file says {:g} MiB", gpu.isa,
                           gpu.arch.name, dies->least.base() / kMiB, dies->most.base() / kMiB,
                           gpu.l2.size->base() / kMiB));
}

void check_dram_type(const GpuSpec& gpu, LintReport& report) {
  if (gpu.dram.known) return;
  report.add("/memory/dram/type", fmt::format("\"{}\" is not a known type; {}",
                                              printable(gpu.dram.type), gpu.dram.type_hint));
}

void check_dram_rate(const GpuSpec& gpu, LintReport& report) {
  const std::optional<MemoryType>& type = gpu.dram.known;
  if (!type || !gpu.dram.bandwidth) return;
  std::optional<double> rate = gpu.dram.gbit_per_pin;
  if (!rate && gpu.dram.bus_bits)
    rate = gpu.dram.bandwidth->base() * 8e-9 / static_cast<double>(*gpu.dram.bus_bits);
  if (!rate) {
    report.add("/memory/dram/bandwidth", fmt::format("{} cannot be checked: state bus_bits",
                                                     format_rate(*gpu.dram.bandwidth, 4)));
  } else if (*rate < type->least_gbit * (1 - kRounding) ||
             *rate > type->most_gbit * (1 + kRounding)) {
    report.add(gpu.dram.gbit_per_pin ? "/memory/dram/data_rate" : "/memory/dram/bandwidth",
               fmt::format("{:.4g} Gbit/s per pin; {} runs at {:g} to {:g}", *rate, type->name,
                           type->least_gbit, type->most_gbit));
  }
}

void check_dram_capacity(const GpuSpec& gpu, LintReport& report) {
  const std::optional<MemoryType>& type = gpu.dram.known;
  if (!type || !gpu.dram.bus_bits || !gpu.dram.size) return;
  const double devices =
      static_cast<double>(*gpu.dram.bus_bits) / static_cast<double>(type->device_bits);
  const double found = gpu.dram.size->base() / 1e9 / devices;
  if (found < type->least_gb * (1 - kRounding) || found > type->most_gb * (1 + kRounding))
    report.add("/memory/dram/size",
               fmt::format("{:.3g} GB per {} bit; {} has {:g} to {:g}", found, type->device_bits,
                           type->name, type->least_gb, type->most_gb));
}

std::vector<LintFinding> lint(const Architecture& arch) {
  constexpr std::string_view kRates = "sm/flop_per_clock";
  const ArchitectureSm& sm = arch.sm;
  std::vector<LintFinding> findings;
  LintReport ratio("tensor-ratio", findings);
  check_tensor_ratio(sm.flop_per_clock, kRates, ratio);
  LintReport vector("tensor-vector", findings);
  check_tensor_vector(sm.flop_per_clock, kRates, vector);
  LintReport lanes("fp32-lanes", findings);
  const double fp32 = sm.flop_per_clock.at({.dtype = DType::Fp32, .pipe = Pipe::Vector});
  const double each = fp32 / 2.0 / static_cast<double>(sm.schedulers);
  if (each != std::floor(each))
    lanes.add("/sm/schedulers",
              fmt::format("{} lanes cannot be shared by {} schedulers", fp32 / 2, sm.schedulers));
  LintReport warps("warps", findings);
  if (sm.max_threads && *sm.max_threads % sm.warp_size != 0)
    warps.add("/sm/max_threads", fmt::format("{} threads are not a whole number of warps of {}",
                                             *sm.max_threads, sm.warp_size));
  return findings;
}

}  // namespace rooftile::hardware
