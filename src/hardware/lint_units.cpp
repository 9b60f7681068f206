// SPDX-License-Identifier: Apache-2.0
//
// Rule unit-slip: what a GPU of 2010 to 2035 can have. A wrong prefix (k, M, G, T) falls outside
// the range, or far from what other values of the file give.
#include <fmt/format.h>

#include "core/text.h"
#include "hardware/lint_checks.h"

namespace rooftile::hardware {

namespace {

constexpr Plausible kClock{2e8, 4e9, "Hz"};
constexpr Plausible kDramBandwidth{5e10, 4e13, "B/s"};
constexpr Plausible kCacheBandwidth{1e11, 2e14, "B/s"};
constexpr Plausible kDramSize{1e9, 4e12, "B"};
constexpr Plausible kL2Size{2.5e5, 1.1e9, "B"};
constexpr Plausible kL1Size{8e3, 2e6, "B"};
constexpr Plausible kLine{16, 512, "B"};
constexpr Plausible kLatency{8, 5000, "cycles"};
constexpr Plausible kL1PerSm{16, 1024, "B/clk"};
constexpr Plausible kFlopPerSmClock{1, 131072, "FLOP per SM and clock"};

/// "256 TB/s": a prefix where the unit takes one.
std::string with_unit(double value, std::string_view unit) {
  if (unit == "Hz") return fmt::format("{}Hz", format_count(value));
  if (unit == "B") return format_bytes(Bytes::from_base(value));
  if (unit == "B/s") return format_rate(BytesPerSecond::from_base(value));
  if (unit == "FLOP/s") return format_rate(FlopsPerSecond::from_base(value));
  if (unit == "s") return format_time(Seconds::from_base(value));
  return fmt::format("{:.4g} {}", value, unit);
}

template <typename Q>
void expect(const std::optional<Q>& value, const Plausible& range, std::string_view pointer,
            LintReport& report) {
  if (value) expect(value->base(), range, pointer, report);
}

void expect_level(const MemorySpec& level, const Plausible& size, const Plausible& bandwidth,
                  const std::string& pointer, LintReport& report) {
  expect(level.size, size, pointer + "/size", report);
  expect(level.bandwidth, bandwidth, pointer + "/bandwidth", report);
  expect(level.bandwidth_per_sm, kL1PerSm, pointer + "/bandwidth_per_sm", report);
  expect(level.line, kLine, pointer + "/line", report);
  expect(level.sector, kLine, pointer + "/sector", report);
  expect(level.latency, kLatency, pointer + "/latency", report);
}

/// Peaks by what an SM does per clock, in general and as the file or its ISA says.
void expect_peaks(const GpuSpec& gpu, LintReport& report) {
  const double sm_clocks = static_cast<double>(gpu.sm.count) * gpu.clock.boost.base();
  for (const auto& [key, peak] : gpu.peak) {
    const std::string pointer = "/peak/" + name_of(key);
    const double per_clock = peak.base() / sm_clocks;
    std::optional<double> known;
    for (const Rates& rates : {gpu.arch.sm.flop_per_clock, gpu.sm.flop_per_clock}) {
      if (const auto it = rates.find(key); it != rates.end()) known = it->second;
    }
    if (!known || !is_within(per_clock, kFlopPerSmClock)) {
      expect(per_clock, kFlopPerSmClock, pointer, report);
    } else {
      expect_near(per_clock,
                  {.value = *known,
                   .what = fmt::format("the {:g} FLOP per SM and clock of the part", *known)},
                  pointer, report);
    }
  }
}

/// The DRAM by its pins.
void expect_pins(const DramSpec& dram, LintReport& report) {
  if (!dram.bandwidth || !dram.bus_bits || !dram.gbit_per_pin) return;
  const double found = dram.bandwidth->base();
  if (!is_within(found, kDramBandwidth)) return;  // said already
  expect_near(found,
              {.value = static_cast<double>(*dram.bus_bits) / 8.0 * *dram.gbit_per_pin * 1e9,
               .what = fmt::format("{} bit x {:g} Gbit/s / 8", *dram.bus_bits, *dram.gbit_per_pin)},
              "/memory/dram/bandwidth", report);
}

void expect_measured(const GpuSpec& gpu, LintReport& report) {
  expect(gpu.measured.dram_read, kDramBandwidth, "/measured/dram_read", report);
  expect(gpu.measured.dram_write, kDramBandwidth, "/measured/dram_write", report);
  expect(gpu.measured.dram_copy, kDramBandwidth, "/measured/dram_copy", report);
  expect(gpu.measured.l2_read, kCacheBandwidth, "/measured/l2_read", report);
  expect(gpu.measured.l1_per_sm, kL1PerSm, "/measured/l1_per_sm", report);
  expect(gpu.measured.latency_clock, kClock, "/measured/latency_clock", report);
  for (const auto& [key, rate] : gpu.measured.rate) {
    const auto peak = gpu.peak.find(key);
    if (peak == gpu.peak.end()) continue;
    expect_near(rate.base(),
                {.value = peak->second.base(),
                 .what = fmt::format("the peak of {}", with_unit(peak->second.base(), "FLOP/s"))},
                "/measured/rate/" + name_of(key), report);
  }
}

}  // namespace

bool is_within(double value, const Plausible& range) {
  return value >= range.low && value <= range.high;
}

void expect(double value, const Plausible& range, std::string_view pointer, LintReport& report) {
  if (is_within(value, range)) return;
  std::string hint;
  for (const double factor : {1e3, 1e-3, 1e6, 1e-6, 1e9, 1e-9}) {
    if (is_within(value * factor, range)) {
      hint = fmt::format("; {:.10g} times as much would be plausible: wrong prefix?", factor);
      break;
    }
  }
  report.add(
      std::string(pointer),
      fmt::format("{} is not between {} and {}{}", with_unit(value, range.unit),
                  with_unit(range.low, range.unit), with_unit(range.high, range.unit), hint));
}

void expect_near(double value, const Expected& expected, std::string_view pointer,
                 LintReport& report) {
  const double ratio = value / expected.value;
  if (ratio <= kSlip && ratio >= 1.0 / kSlip) return;
  report.add(std::string(pointer),
             fmt::format("is {:.3g} times {}: wrong prefix?", ratio, expected.what));
}

void check_unit_slip(const GpuSpec& gpu, LintReport& report) {
  expect(gpu.clock.base, kClock, "/clock/base", report);
  expect(gpu.clock.boost.base(), kClock, "/clock/boost", report);
  expect(gpu.clock.tensor, kClock, "/clock/tensor", report);
  expect(gpu.sm.shared, kL1Size, "/sm/shared", report);
  expect(gpu.sm.shared_per_block, kL1Size, "/sm/shared_per_block", report);
  expect_level(gpu.l1, kL1Size, kCacheBandwidth, "/memory/l1", report);
  expect_level(gpu.l2, kL2Size, kCacheBandwidth, "/memory/l2", report);
  if (gpu.last_level)
    expect_level(*gpu.last_level, kL2Size, kCacheBandwidth, "/memory/last_level", report);
  expect_level(gpu.dram, kDramSize, kDramBandwidth, "/memory/dram", report);
  expect_pins(gpu.dram, report);
  expect_peaks(gpu, report);
  expect_measured(gpu, report);
  if (gpu.interconnect)
    expect(gpu.interconnect->per_direction.base(), kLink, "/links/interconnect", report);
  constexpr std::int64_t kMostJoined = 576;  // of the largest domain that was announced
  if (gpu.interconnect && gpu.interconnect->gpus.value_or(1) > kMostJoined)
    report.add("/links/interconnect/gpus", fmt::format("{} GPUs: no link joins more than {}",
                                                       *gpu.interconnect->gpus, kMostJoined));
  if (gpu.pcie) expect(gpu.pcie->per_direction.base(), kLink, "/links/pcie", report);
}

}  // namespace rooftile::hardware
