// SPDX-License-Identifier: Apache-2.0
#include "cost/attained.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

#include "core/text.h"

namespace rooftile::cost {

namespace {

/// The first number in "TSMC 12nm FFN", "Samsung 8N", "TSMC N5 (XCD) + N6 (IOD)".
std::optional<double> process_nanometres(const hardware::GpuSpec& gpu) {
  if (!gpu.process) return std::nullopt;
  const std::string_view text = *gpu.process;
  const std::size_t begin = text.find_first_of("0123456789");
  if (begin == std::string_view::npos) return std::nullopt;
  const std::size_t end = text.find_first_not_of("0123456789", begin);
  return parse_double(text.substr(begin, end - begin));
}

/// W per TFLOP/s of convolutions: the entry of the process, else of the next finer one; the finest
/// below all of them.
double needed_watt(double nanometres, const ClockConstants& clock) {
  struct Entry {
    double nanometres, share;
  };
  const std::array shares{Entry{12, clock.share_12nm}, Entry{8, clock.share_8nm},
                          Entry{7, clock.share_7nm}, Entry{6, clock.share_6nm},
                          Entry{5, clock.share_5nm}};
  if (nanometres >= 28) return clock.watt_28nm;
  if (nanometres >= 16) return clock.watt_16nm;
  for (const Entry& entry : shares) {
    if (nanometres >= entry.nanometres) return entry.share * clock.watt_16nm;
  }
  return clock.share_4nm * clock.watt_16nm;
}

double convolution_clock(const hardware::GpuSpec& gpu, const ClockConstants& clock) {
  const double peak = 2.0 * static_cast<double>(gpu.sm.count) *
                      static_cast<double>(gpu.sm.fp32_lanes) * gpu.clock.boost.base();
  return 1.0 / std::max(1.0, power_demand(gpu, peak, 1.0, clock).value_or(1.0));
}

/// The factor in time where a board has 1 / `demand` of the power that tensor products ask for.
double slower_by(double demand, const ClockConstants& clock) {
  return std::pow(std::max(1.0, demand), clock.tensor_exponent);
}

}  // namespace

std::optional<double> power_demand(const hardware::GpuSpec& gpu, double peak, double load,
                                   const ClockConstants& clock) {
  const auto process = process_nanometres(gpu);
  if (!process || !gpu.power_watt) return std::nullopt;
  constexpr double kTera = 1e12;
  return load * needed_watt(*process, clock) * (peak / kTera) / *gpu.power_watt;
}

std::optional<double> tensor_demand(const hardware::GpuSpec& gpu, hardware::RateKey key,
                                    const ClockConstants& clock) {
  constexpr double kUsualBytes = 2;
  const auto peak = gpu.peak.find(key);
  if (peak == gpu.peak.end()) return std::nullopt;
  double hertz = gpu.clock.tensor.value_or(gpu.clock.boost).base();
  if (const auto rate = gpu.sm.flop_per_clock.find(key);
      rate != gpu.sm.flop_per_clock.end() && rate->second > 0 && gpu.sm.count > 0)
    hertz = peak->second.base() / (rate->second * static_cast<double>(gpu.sm.count));
  const double halvings = std::log2(kUsualBytes / size_of(key.dtype).base());
  const double load = clock.tensor_share * std::pow(clock.tensor_narrow, halvings) *
                      std::pow(hertz / kReferenceClock, 2);
  return power_demand(gpu, peak->second.base(), load, clock);
}

std::optional<double> tensor_slowdown(const hardware::GpuSpec& gpu, hardware::RateKey key,
                                      const ClockConstants& clock) {
  const auto demand = tensor_demand(gpu, key, clock);
  if (!demand) return std::nullopt;
  return slower_by(*demand, clock);
}

double sustained_slowdown(const hardware::GpuSpec& gpu, hardware::RateKey key,
                          const ClockConstants& clock) {
  const auto demand = tensor_demand(gpu, key, clock);
  const auto process = process_nanometres(gpu);
  if (!demand || !process) return 1;
  // Lasting load moves real numbers: wires and memories shrank by about the root of what logic did.
  const double logic = needed_watt(*process, clock) / clock.watt_16nm;
  const double lasting = std::max(1.0, clock.tensor_sustained / std::sqrt(logic));
  return slower_by(lasting * *demand, clock) / slower_by(*demand, clock);
}

std::string sibling_key(const hardware::GpuSpec& gpu) {
  return gpu.isa + "/" + gpu.dram.type;
}

std::optional<double> published_fraction(const hardware::GpuSpec& gpu) {
  const auto attained = gpu.measured.dram_copy ? gpu.measured.dram_copy : gpu.measured.dram_read;
  if (!attained || !gpu.dram.bandwidth) return std::nullopt;
  constexpr double kSlip = 0.1;  // a published bandwidth below a tenth is a slip
  return std::clamp(*attained / *gpu.dram.bandwidth, kSlip, 1.0);
}

double streaming_fraction(const hardware::GpuSpec& gpu, const Streaming& streaming) {
  if (const auto it = streaming.measured.find(gpu.id); it != streaming.measured.end())
    return it->second;
  if (const auto it = streaming.published.find(gpu.id); it != streaming.published.end())
    return it->second;
  if (const auto own = published_fraction(gpu)) return *own;
  if (const auto it = streaming.sibling.find(sibling_key(gpu)); it != streaming.sibling.end())
    return it->second;
  const std::string_view kind = gpu.dram.known ? gpu.dram.known->kind : std::string_view();
  if (const auto it = streaming.memory.find(kind); it != streaming.memory.end()) return it->second;
  return streaming.usual;
}

Seconds launch_gap(const hardware::Machine& machine, const StepConstants& constants) {
  if (machine.ceilings && machine.ceilings->launch) return machine.ceilings->launch->value;
  return Seconds::from_base(constants.gap);
}

LinkConstants calibrated_links(LinkConstants links, const hardware::LinkFactors& factors) {
  for (LinkForm* form : {&links.fabric, &links.pcie}) {
    form->efficiency *= factors.bandwidth;
    form->start *= factors.start;
    form->step *= factors.start;
  }
  return links;
}

LinkConstants links_of(const hardware::Machine& machine, const LinkConstants& fitted) {
  const bool measured = machine.ceilings && machine.ceilings->calibration;
  if (!measured || !machine.ceilings->calibration->links) return fitted;
  return calibrated_links(fitted, *machine.ceilings->calibration->links);
}

Attained attained(const hardware::Machine& machine, const Constants& constants) {
  const hardware::GpuSpec& gpu = machine.gpu;
  Attained out;
  const auto dram = machine.bandwidth(hardware::MemoryLevel::Dram);
  const bool measured = dram && dram->is_measured();
  if (!measured) {
    const Streaming& shares = constants.streaming;
    out.streaming = streaming_fraction(gpu, shares);
    out.products = shares.products;
    out.convolutions = shares.convolutions;
  }
  // Where nobody measured the L2, it fills its SMs through their ports: 64 bytes per clock and SM,
  // on NVIDIA parts since Volta [public: NVIDIA's tuning guides] and on AMD's.
  constexpr BytesPerCycle kPort = BytesPerCycle::from_base(64);
  const auto l2 = machine.bandwidth(hardware::MemoryLevel::L2);
  const auto sms = static_cast<double>(std::max<std::int64_t>(gpu.sm.count, 1));
  out.l2 = l2 ? l2->value : kPort * sms * gpu.clock.boost;
  out.clock = convolution_clock(gpu, constants.clock);
  out.launch = launch_gap(machine, constants.step);
  return out;
}

}  // namespace rooftile::cost
