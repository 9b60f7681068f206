// SPDX-License-Identifier: Apache-2.0
//
// Rules that compare a file with its architecture and its memory type (hardware/arch_limits.h).
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "core/text.h"
#include "hardware/arch_limits.h"
#include "hardware/arch_table.h"
#include "hardware/lint_checks.h"

namespace rooftile::hardware {

void check_architecture(const GpuSpec& gpu, LintReport& report) {
  if (const auto arch = arch_limits(gpu.isa)) {
    if (gpu.architecture != arch->architecture)
      report.add("/architecture", fmt::format("{} is {}, the file says \"{}\"", gpu.isa,
                                              arch->architecture, printable(gpu.architecture)));
    return;
  }
  if (gpu.vendor == Vendor::Other) return;
  std::vector<std::string_view> names;
  for (const ArchLimits& arch : known_architectures()) {
    if (names.empty() || names.back() != arch.architecture) names.push_back(arch.architecture);
  }
  if (std::find(names.begin(), names.end(), gpu.architecture) == names.end())
    report.add("/architecture",
               fmt::format("\"{}\" is no known architecture; {}", printable(gpu.architecture),
                           did_you_mean(gpu.architecture, names, "known are")));
}

void check_rate_unchecked(const GpuSpec& gpu, LintReport& report) {
  for (const auto& [key, peak] : gpu.peak) {
    if (gpu.sm.flop_per_clock.contains(key) || arch_flop_per_clock(gpu.isa, key)) continue;
    report.add("/peak/" + name_of(key),
               fmt::format("{} cannot be checked: state /sm/flop_per_clock/{}",
                           format_rate(peak, 4), name_of(key)));
  }
}

void check_tensor_vector(const GpuSpec& gpu, LintReport& report) {
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
    const auto rate = gpu.peak.find(ratio.key);
    const auto base = gpu.peak.find(ratio.base);
    if (rate == gpu.peak.end() || base == gpu.peak.end()) continue;
    const double found = rate->second / base->second;
    if (found < ratio.least || found > ratio.most)
      report.add("/peak/" + name_of(ratio.key),
                 fmt::format("{} is {:.3g} times {}, expected {:g} to {:g}", name_of(ratio.key),
                             found, name_of(ratio.base), ratio.least, ratio.most));
  }
}

void check_sm_limits(const GpuSpec& gpu, LintReport& report) {
  struct Limit {
    std::string_view name;
    std::optional<std::int64_t> found, expected;
    std::int64_t least, most;  ///< where the architecture is unknown
  };
  const ArchLimits arch = arch_limits(gpu.isa).value_or(ArchLimits{});
  const std::array<Limit, 3> limits{{
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
  const auto arch = arch_limits(gpu.isa);
  if (!arch || !gpu.l2.size) return;
  constexpr double kMiB = 1024.0 * 1024.0;
  const double found = gpu.l2.size->base() / kMiB;
  if (found < arch->l2_least_mib * (1 - kRounding) || found > arch->l2_most_mib * (1 + kRounding))
    report.add("/memory/l2/size",
               fmt::format("dies of {} ({}) have {:g} to {:g} MiB, the file says {:g} MiB", gpu.isa,
                           arch->architecture, arch->l2_least_mib, arch->l2_most_mib, found));
}

void check_dram_type(const GpuSpec& gpu, LintReport& report) {
  if (dram_type(gpu.dram.type)) return;
  std::vector<std::string_view> names;
  for (const DramType& type : known_dram_types()) names.push_back(type.name);
  report.add("/memory/dram/type",
             fmt::format("\"{}\" is no known type; {}", printable(gpu.dram.type),
                         did_you_mean(gpu.dram.type, names, "known are")));
}

void check_dram_rate(const GpuSpec& gpu, LintReport& report) {
  const auto type = dram_type(gpu.dram.type);
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
  const auto type = dram_type(gpu.dram.type);
  if (!type || !gpu.dram.bus_bits || !gpu.dram.size) return;
  const double devices =
      static_cast<double>(*gpu.dram.bus_bits) / static_cast<double>(type->device_bits);
  const double found = gpu.dram.size->base() / 1e9 / devices;
  if (found < type->least_gb * (1 - kRounding) || found > type->most_gb * (1 + kRounding))
    report.add("/memory/dram/size",
               fmt::format("{:.3g} GB per {} bit; {} has {:g} to {:g}", found, type->device_bits,
                           type->name, type->least_gb, type->most_gb));
}

}  // namespace rooftile::hardware
