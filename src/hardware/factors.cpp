// SPDX-License-Identifier: Apache-2.0
#include "hardware/factors.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/text.h"

namespace rooftile::hardware {

namespace {

std::int64_t whole(std::int64_t count, double factor) {
  return std::max<std::int64_t>(1, std::llround(static_cast<double>(count) * factor));
}

template <typename Q>
void multiply(std::optional<Q>& quantity, double factor) {
  if (quantity) quantity = *quantity * factor;
}

void multiply(std::optional<std::int64_t>& count, double factor) {
  if (count) count = whole(*count, factor);
}

template <typename Q>
void multiply(Measured<Q>& measured, double factor) {
  measured.value = measured.value * factor;
  multiply(measured.low, factor);
  multiply(measured.high, factor);
}

template <typename Q>
void multiply(std::optional<Measured<Q>>& measured, double factor) {
  if (measured) multiply(*measured, factor);
}

/// What the factors of single keys together do to rates of the whole GPU.
struct Products {
  double rate = 1;    ///< FLOP/s
  double shared = 1;  ///< bytes/s of all SMs
  double l1 = 1;
};

void scale_sm(GpuSpec& gpu, const Factors& f) {
  SmSpec& sm = gpu.sm;
  sm.fp32_lanes = whole(sm.fp32_lanes, f.of(MachineKey::Lanes));
  // Schedulers come with the lanes that they feed: a scheduler is as wide as before.
  std::int64_t& schedulers = gpu.arch.sm.schedulers;
  schedulers = std::max<std::int64_t>(
      1, static_cast<std::int64_t>(static_cast<double>(schedulers) * f.of(MachineKey::Lanes)));
  for (auto& [key, flop] : sm.flop_per_clock) flop *= f.of(MachineKey::Lanes);
  multiply(sm.registers, f.of(MachineKey::SmMemory));
  multiply(sm.shared, f.of(MachineKey::SmMemory));
  multiply(sm.shared_per_block, f.of(MachineKey::SmMemory));
  sm.shared_bandwidth = sm.shared_bandwidth * f.of(MachineKey::SharedBandwidth);
  multiply(gpu.clock.base, f.of(MachineKey::Clock));
  gpu.clock.boost = gpu.clock.boost * f.of(MachineKey::Clock);
  multiply(gpu.clock.tensor, f.of(MachineKey::Clock));
}

void scale_memory(GpuSpec& gpu, const Factors& f, const Products& products) {
  multiply(gpu.l1.bandwidth, products.l1);
  multiply(gpu.l1.bandwidth_per_sm, f.of(MachineKey::L1Bandwidth));
  multiply(gpu.measured.l1_per_sm, f.of(MachineKey::L1Bandwidth));
  multiply(gpu.l2.size, f.of(MachineKey::L2Size));
  multiply(gpu.l2.bandwidth, f.of(MachineKey::L2Bandwidth));
  multiply(gpu.measured.l2_read, f.of(MachineKey::L2Bandwidth));
  const double dram = f.of(MachineKey::DramBandwidth);
  multiply(gpu.dram.bandwidth, dram);
  multiply(gpu.dram.gbit_per_pin, dram);
  multiply(gpu.measured.dram_read, dram);
  multiply(gpu.measured.dram_write, dram);
  multiply(gpu.measured.dram_copy, dram);
}

void scale_ceilings(Ceilings& ceilings, const Factors& f, const Products& products) {
  for (auto& [key, rate] : ceilings.rate) multiply(rate, products.rate);
  multiply(ceilings.shared, products.shared);
  for (auto& [level, bandwidth] : ceilings.bandwidth) {
    switch (level) {
      case MemoryLevel::L1: multiply(bandwidth, products.l1); break;
      case MemoryLevel::L2: multiply(bandwidth, f.of(MachineKey::L2Bandwidth)); break;
      case MemoryLevel::Dram: multiply(bandwidth, f.of(MachineKey::DramBandwidth)); break;
    }
  }
}

}  // namespace

std::string_view name_of(MachineKey key) {
  switch (key) {
    case MachineKey::Sms: return "sms";
    case MachineKey::Lanes: return "lanes";
    case MachineKey::SmMemory: return "sm_memory";
    case MachineKey::SharedBandwidth: return "shared_bw";
    case MachineKey::L1Bandwidth: return "l1_bw";
    case MachineKey::L2Bandwidth: return "l2_bw";
    case MachineKey::L2Size: return "l2_size";
    case MachineKey::DramBandwidth: return "dram_bw";
    case MachineKey::Clock: return "clock";
  }
  return "?";
}

Result<MachineKey> parse_machine_key(std::string_view text) {
  std::vector<std::string_view> names;
  for (const MachineKey key : kAllMachineKeys) {
    if (name_of(key) == text) return key;
    names.push_back(name_of(key));
  }
  return usage_error(fmt::format("unknown resource \"{}\"", printable(text)),
                     did_you_mean(text, names, "resources are"));
}

Machine scaled(const Machine& machine, const Factors& f) {
  Machine out = machine;
  GpuSpec& gpu = out.gpu;
  gpu.sm.count = whole(gpu.sm.count, f.of(MachineKey::Sms));
  const double sms = static_cast<double>(gpu.sm.count) / static_cast<double>(machine.gpu.sm.count);
  const double sm_clocks = sms * f.of(MachineKey::Clock);
  const Products products{.rate = sm_clocks * f.of(MachineKey::Lanes),
                          .shared = sm_clocks * f.of(MachineKey::SharedBandwidth),
                          .l1 = sm_clocks * f.of(MachineKey::L1Bandwidth)};
  scale_sm(gpu, f);
  scale_memory(gpu, f, products);
  for (auto* rates : {&gpu.peak, &gpu.peak_fp16_accumulate, &gpu.measured.rate}) {
    for (auto& [key, rate] : *rates) rate = rate * products.rate;
  }
  multiply(gpu.power_watt, products.rate);
  if (out.ceilings) scale_ceilings(*out.ceilings, f, products);
  return out;
}

}  // namespace rooftile::hardware
