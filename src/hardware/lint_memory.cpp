// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <limits>

#include "core/text.h"
#include "hardware/lint_checks.h"

namespace rooftile::hardware {

namespace {

constexpr RateKey kFp32{.dtype = DType::Fp32, .pipe = Pipe::Vector};

std::string with_unit(BytesPerSecond rate) {
  return format_rate(rate, 4);
}
std::string with_unit(FlopsPerSecond rate) {
  return format_rate(rate, 4);
}
std::string with_unit(BytesPerCycle rate) {
  return fmt::format("{:g} B/clk", rate.base());
}

/// How likely a bandwidth is the wrong one of two: the DRAM's follows from its pins, a data sheet
/// is printed by the vendor, a measurement is anybody's.
enum class Trust : std::uint8_t { Measured, Datasheet, Derived };

/// A level's bandwidth over the whole GPU, data sheet or published, and where it stands.
struct Level {
  std::string_view name;
  std::string_view pointer;
  std::optional<double> bandwidth;
  std::optional<double> latency;
  std::string_view bandwidth_pointer;
  Trust trust;
};

std::optional<double> base_of(const auto& quantity) {
  return quantity ? std::optional(quantity->base()) : std::nullopt;
}

std::array<Level, 4> levels_of(const GpuSpec& gpu) {
  const auto whole_gpu = [&gpu](const std::optional<BytesPerCycle>& per_sm) {
    return per_sm ? std::optional(per_sm->base() * static_cast<double>(gpu.sm.count) *
                                  gpu.clock.boost.base())
                  : std::nullopt;
  };
  const auto l1 = whole_gpu(gpu.l1.bandwidth_per_sm);
  const auto l2 = base_of(gpu.l2.bandwidth);
  const MemorySpec last = gpu.last_level.value_or(MemorySpec{});
  const bool pins = gpu.dram.bus_bits && gpu.dram.gbit_per_pin;
  return {
      {{"L1", "/memory/l1", l1 ? l1 : whole_gpu(gpu.measured.l1_per_sm), base_of(gpu.l1.latency),
        l1 ? "/memory/l1/bandwidth_per_sm" : "/measured/l1_per_sm",
        l1 ? Trust::Datasheet : Trust::Measured},
       {"L2", "/memory/l2", l2 ? l2 : base_of(gpu.measured.l2_read), base_of(gpu.l2.latency),
        l2 ? "/memory/l2/bandwidth" : "/measured/l2_read", l2 ? Trust::Datasheet : Trust::Measured},
       {"last level", "/memory/last_level", base_of(last.bandwidth), base_of(last.latency),
        "/memory/last_level/bandwidth", Trust::Datasheet},
       {"DRAM", "/memory/dram", base_of(gpu.dram.bandwidth), base_of(gpu.dram.latency),
        "/memory/dram/bandwidth", pins ? Trust::Derived : Trust::Datasheet}}};
}

}  // namespace

namespace {

constexpr double kDramFactor = 0.2;  // beyond it no exception of dram-product is believed

/// Reports differences between `least` and `most`.
void compare_dram_product(const GpuSpec& gpu, double least, double most, LintReport& report) {
  if (!gpu.dram.bus_bits || !gpu.dram.gbit_per_pin || !gpu.dram.bandwidth) return;
  const double expected = static_cast<double>(*gpu.dram.bus_bits) / 8.0 * *gpu.dram.gbit_per_pin;
  const double found = gpu.dram.bandwidth->base() / 1e9;
  if (!near(found, expected, least) && near(found, expected, most))
    report.add("/memory/dram/bandwidth",
               fmt::format("{:g} GB/s; {} bit x {:g} Gbit/s / 8 = {:.6g} GB/s ({:+.1f} %)", found,
                           *gpu.dram.bus_bits, *gpu.dram.gbit_per_pin, expected,
                           (found / expected - 1.0) * 100.0));
}

}  // namespace

void check_dram_product(const GpuSpec& gpu, LintReport& report) {
  compare_dram_product(gpu, kRounding, kDramFactor, report);
}

void check_dram_factor(const GpuSpec& gpu, LintReport& report) {
  compare_dram_product(gpu, kDramFactor, std::numeric_limits<double>::infinity(), report);
}

void check_ridge(const GpuSpec& gpu, LintReport& report) {
  // In the catalogue FP32 lies between 9.6 FLOP/B (A100 SXM 80GB) and 106 (L40S), tensor types of
  // 16 bits and less between 20 (INT8 on B300, all but removed) and 1892 (FP4 on GB300).
  constexpr double kLeastVector = 2.0;
  constexpr double kMostVector = 400.0;
  constexpr double kLeastTensor = 10.0;
  constexpr double kMostTensor = 6000.0;
  if (!gpu.dram.bandwidth) return;
  for (const auto& [key, peak] : gpu.peak) {
    const bool narrow_tensor =
        key.pipe == Pipe::Tensor && size_of(key.dtype) <= Bytes::from_base(2);
    if (key != kFp32 && !narrow_tensor) continue;
    const double ridge = (peak / *gpu.dram.bandwidth).base();
    const double least = narrow_tensor ? kLeastTensor : kLeastVector;
    const double most = narrow_tensor ? kMostTensor : kMostVector;
    if (ridge < least || ridge > most)
      report.add("/peak/" + name_of(key),
                 fmt::format("the DRAM ridge point of {} is {:.3g} FLOP/B, expected {} to {}",
                             name_of(key), ridge, least, most));
  }
}

void check_bandwidth_order(const GpuSpec& gpu, LintReport& report) {
  const Level* above = nullptr;
  const auto levels = levels_of(gpu);
  for (const Level& level : levels) {
    if (!level.bandwidth) continue;
    if (above != nullptr && *level.bandwidth > *above->bandwidth)
      report.add(
          std::string((level.trust <= above->trust ? level : *above).bandwidth_pointer),
          fmt::format("{} with {} is faster than {} with {}", level.name,
                      format_rate(BytesPerSecond::from_base(*level.bandwidth), 4), above->name,
                      format_rate(BytesPerSecond::from_base(*above->bandwidth), 4)));
    above = &level;
  }
}

void check_latency_order(const GpuSpec& gpu, LintReport& report) {
  const Level* above = nullptr;
  const auto levels = levels_of(gpu);
  for (const Level& level : levels) {
    if (!level.latency) continue;
    if (above != nullptr && *level.latency <= *above->latency)
      report.add(fmt::format("{}/latency", level.pointer),
                 fmt::format("{} answers in {:g} cycles, not later than {} in {:g}", level.name,
                             *level.latency, above->name, *above->latency));
    above = &level;
  }
}

constexpr double kMostMeasured = 1.01;   // clocks of a short run may exceed the quoted ones
constexpr double kLeastMeasured = 0.25;  // far below what any copy or library reaches

/// Calls `compare` with every measurement that has a figure of the data sheet, and where it stands.
template <typename Compare>
void each_measured(const GpuSpec& gpu, const Compare& compare) {
  const auto both = [&compare](const auto& measured, const auto& paper, std::string_view pointer) {
    if (measured && paper) compare(*measured, *paper, std::string(pointer));
  };
  both(gpu.measured.dram_read, gpu.dram.bandwidth, "/measured/dram_read");
  both(gpu.measured.dram_write, gpu.dram.bandwidth, "/measured/dram_write");
  both(gpu.measured.dram_copy, gpu.dram.bandwidth, "/measured/dram_copy");
  both(gpu.measured.l2_read, gpu.l2.bandwidth, "/measured/l2_read");
  both(gpu.measured.l1_per_sm, gpu.l1.bandwidth_per_sm, "/measured/l1_per_sm");
  for (const auto& [key, rate] : gpu.measured.rate) {
    const auto it = gpu.peak.find(key);
    if (it != gpu.peak.end())
      compare(rate, it->second, fmt::format("/measured/rate/{}", name_of(key)));
  }
}

void check_measured_above(const GpuSpec& gpu, LintReport& report) {
  each_measured(gpu, [&report](const auto& measured, const auto& paper, std::string pointer) {
    if (measured.base() > paper.base() * kMostMeasured)
      report.add(std::move(pointer), fmt::format("measured {} is above the data sheet's {}",
                                                 with_unit(measured), with_unit(paper)));
  });
  for (const auto& [key, rate] : gpu.measured.rate) {
    if (!gpu.peak.contains(key))
      report.add(fmt::format("/measured/rate/{}", name_of(key)),
                 fmt::format("{} was measured, but the file states no peak for it", name_of(key)));
  }
}

void check_measured_below(const GpuSpec& gpu, LintReport& report) {
  each_measured(gpu, [&report](const auto& measured, const auto& paper, std::string pointer) {
    if (measured.base() < paper.base() * kLeastMeasured)
      report.add(std::move(pointer),
                 fmt::format("measured {} is {:.2g} of the data sheet's {}: a digit lost?",
                             with_unit(measured), measured / paper, with_unit(paper)));
  });
}

void check_shared(const GpuSpec& gpu, LintReport& report) {
  const auto kib = [](Bytes size) { return size.base() / 1024.0; };
  const auto& sm = gpu.sm;
  if (sm.shared && sm.shared_per_block && *sm.shared_per_block > *sm.shared)
    report.add("/sm/shared_per_block",
               fmt::format("{:g} KiB per block is more than {:g} KiB per SM",
                           kib(*sm.shared_per_block), kib(*sm.shared)));
  if (sm.shared && gpu.l1.includes_shared && gpu.l1.size && *sm.shared > *gpu.l1.size)
    report.add("/sm/shared",
               fmt::format("{:g} KiB shared is more than the {:g} KiB of L1 it is part of",
                           kib(*sm.shared), kib(*gpu.l1.size)));
}

void check_line_sector(const GpuSpec& gpu, LintReport& report) {
  const auto check = [&report](const MemorySpec& level, std::string_view pointer) {
    if (!level.line || !level.sector) return;
    const double sectors = *level.line / *level.sector;
    if (sectors != 1.0 && sectors != 2.0 && sectors != 4.0 && sectors != 8.0)
      report.add(std::string(pointer),
                 fmt::format("a line of {:g} B is not 1, 2, 4 or 8 sectors of {:g} B",
                             level.line->base(), level.sector->base()));
  };
  check(gpu.l1, "/memory/l1/line");
  check(gpu.l2, "/memory/l2/line");
}

namespace {

/// "8 x HDR InfiniBand 200 Gb/s", "100 Gb/s Ethernet": count x rate / 8, in GB/s.
std::optional<double> network_rate(std::string_view name) {
  constexpr std::string_view kTimes = " x ";
  for (const std::string_view unit : {" Gb/s", " Gbit/s"}) {
    const std::size_t at = name.find(unit);
    if (at == std::string_view::npos) continue;
    const std::string_view before = name.substr(0, at);
    const auto rate = parse_double(before.substr(before.rfind(' ') + 1));
    const std::size_t times = before.find(kTimes);
    const auto count = times == std::string_view::npos ? std::optional(1.0)
                                                       : parse_double(before.substr(0, times));
    return count && rate ? std::optional(*count * *rate / 8.0) : std::nullopt;
  }
  return std::nullopt;
}

/// The numbers in "<a> links x <b>" or the PCIe rate of "PCIe <a>.0 x<b>", in GB/s.
std::optional<double> expected_link_rate(std::string_view name) {
  constexpr std::string_view kLinks = " links x ";
  constexpr std::string_view kPcie = "PCIe ";
  if (const std::size_t at = name.find(kLinks); at != std::string_view::npos) {
    const std::string_view before = name.substr(0, at);
    const auto count = parse_double(before.substr(before.rfind(' ') + 1));
    std::string_view after = name.substr(at + kLinks.size());
    const auto rate = parse_double(after.substr(0, after.find(' ')));
    return count && rate ? std::optional(*count * *rate) : std::nullopt;
  }
  if (name.starts_with(kPcie)) {
    // 16 lanes, one direction, after line coding: 128b/130b, from 6.0 on FLIT.
    static constexpr std::array<std::pair<std::string_view, double>, 4> kX16{
        {{"3.0", 15.75}, {"4.0", 31.5}, {"5.0", 63.0}, {"6.0", 121.0}}};
    const std::string_view rest = name.substr(kPcie.size());
    const std::size_t x = rest.find(" x");
    if (x == std::string_view::npos) return std::nullopt;
    const auto lanes = parse_double(rest.substr(x + 2));
    for (const auto& [generation, rate] : kX16) {
      if (lanes && rest.substr(0, x) == generation) return rate * *lanes / 16.0;
    }
  }
  return network_rate(name);
}

/// What the ratio of a link's rate to the one in its name suggests.
std::string_view link_advice(double ratio) {
  if (near(ratio, 2.0, kRounding)) return ": the sum of both directions?";
  if (near(ratio, 8.0, kRounding)) return ": bits for bytes?";
  return "";
}

}  // namespace

std::optional<std::string> link_problem(const LinkSpec& link) {
  const auto expected = expected_link_rate(link.name);
  const double found = link.per_direction.base() / 1e9;
  if (!expected || near(found, *expected, kRounding)) return std::nullopt;
  return fmt::format("\"{}\" gives {:g} GB/s in one direction, the file says {:g}{}", link.name,
                     *expected, found, link_advice(found / *expected));
}

void check_link_product(const GpuSpec& gpu, LintReport& report) {
  const auto check = [&report](const std::optional<LinkSpec>& link, std::string_view pointer) {
    if (!link) return;
    if (const auto problem = link_problem(*link)) report.add(std::string(pointer), *problem);
  };
  check(gpu.interconnect, "/links/interconnect/per_direction");
  check(gpu.pcie, "/links/pcie/per_direction");
}

}  // namespace rooftile::hardware
