// SPDX-License-Identifier: Apache-2.0
#include "latency/learned/chip.h"

#include <algorithm>
#include <cmath>

#include "core/text.h"

namespace rooftile::latency::learned {

namespace {

/// "TSMC 12nm FFN" -> 12, "TSMC 4N" -> 4: the first number.
std::optional<double> process_nm(const hardware::GpuSpec& gpu) {
  if (!gpu.process) return std::nullopt;
  const std::string& text = *gpu.process;
  const std::size_t begin = text.find_first_of("0123456789");
  if (begin == std::string::npos) return std::nullopt;
  const std::size_t end = text.find_first_not_of("0123456789", begin);
  return parse_double(std::string_view(text).substr(begin, end - begin));
}

/// Energy per FLOP relative to 16 nm: the entry of the process, else of the next finer one.
std::optional<double> node_energy(double nm, const Weights& weights) {
  std::optional<double> best;
  double best_nm = -1;
  double finest = 1e9;
  for (const auto& [key, energy] : weights.node_energy) {
    const double entry = parse_double(key).value_or(-1);
    if (entry <= nm && entry > best_nm) best_nm = entry, best = energy;
    if (best_nm < 0 && entry < finest) finest = entry, best = energy;
  }
  return best;
}

}  // namespace

std::string_view memory_kind(const hardware::GpuSpec& gpu) {
  return gpu.dram.type.starts_with("HBM") ? "hbm" : "gddr";
}

std::string sibling_key(const hardware::GpuSpec& gpu) {
  return gpu.isa + "/" + gpu.dram.type;
}

std::optional<double> published_fraction(const hardware::GpuSpec& gpu) {
  const auto attained = gpu.measured.dram_copy ? gpu.measured.dram_copy : gpu.measured.dram_read;
  if (!attained || !gpu.dram.bandwidth) return std::nullopt;
  return std::clamp(*attained / *gpu.dram.bandwidth, 0.1, 1.0);
}

double streaming_fraction(const hardware::GpuSpec& gpu, const Streaming& streaming) {
  if (const auto it = streaming.measured.find(gpu.id); it != streaming.measured.end())
    return it->second;
  if (const auto it = streaming.published.find(gpu.id); it != streaming.published.end())
    return it->second;
  if (const auto own = published_fraction(gpu)) return *own;
  if (const auto it = streaming.sibling.find(sibling_key(gpu)); it != streaming.sibling.end())
    return it->second;
  if (const auto it = streaming.memory.find(memory_kind(gpu)); it != streaming.memory.end())
    return it->second;
  constexpr double kUsual = 0.85;
  return kUsual;
}

std::optional<double> power_factor(const hardware::GpuSpec& gpu, double peak, double energy,
                                   const Weights& weights) {
  const auto nm = process_nm(gpu);
  if (!nm || !gpu.power_watt || energy <= 0) return std::nullopt;
  const auto node = node_energy(*nm, weights);
  if (!node) return std::nullopt;
  return energy * 1e-12 * *node * peak / *gpu.power_watt;
}

double ceiling_factor(const hardware::GpuSpec& gpu, hardware::RateKey key) {
  const auto published = gpu.measured.rate.find(key);
  const auto peak = gpu.peak.find(key);
  if (published == gpu.measured.rate.end() || peak == gpu.peak.end()) return 1.0;
  return std::max(1.0, peak->second / published->second);
}

std::string_view kernel_family(const hardware::GpuSpec& gpu, const Weights& weights) {
  const auto it = weights.families.find(gpu.isa);
  return it == weights.families.end() ? std::string_view(gpu.isa) : std::string_view(it->second);
}

double plateau(const hardware::GpuSpec& gpu, const PlateauQuery& query, const Plateau& plateau,
               const Weights& weights) {
  if (const auto it = plateau.measured.find(gpu.id); it != plateau.measured.end())
    return it->second;
  const auto family = plateau.kappa.find(kernel_family(gpu, weights));
  const double kappa = family == plateau.kappa.end() ? plateau.generic : family->second;
  if (query.measured_ceiling) return kappa;
  const double tau = power_factor(gpu, query.peak, plateau.energy, weights).value_or(0.0);
  return std::max(kappa * ceiling_factor(gpu, query.key), tau * plateau.power_share);
}

const DeviceModel* find_model(const hardware::GpuSpec& gpu, const Weights& weights) {
  const std::string_view vendor = name_of(gpu.vendor);
  std::string key(vendor);
  key += '/';
  key += gpu.isa;
  if (const auto it = weights.models.find(key); it != weights.models.end()) return &it->second;
  if (const auto it = weights.models.find(vendor); it != weights.models.end()) return &it->second;
  return nullptr;
}

Chip chip_of(const Job& job, const hardware::Machine& machine, const Weights& weights) {
  const hardware::GpuSpec& gpu = machine.gpu;
  Chip chip;
  chip.sms = static_cast<double>(std::max<std::int64_t>(gpu.sm.count, 1));
  chip.peak = job.roof.compute.base();
  chip.bandwidth = job.roof.dram.base();
  // A measured bandwidth is attained by definition.
  const bool measured =
      machine.ceilings && machine.ceilings->bandwidth.contains(hardware::MemoryLevel::Dram);
  chip.streaming = measured ? 1.0 : streaming_fraction(gpu, weights.streaming);
  chip.l2 = gpu.l2.size.value_or(Bytes{}).base();
  chip.l1 = gpu.l1.size.value_or(Bytes{}).base();
  chip.threads = static_cast<double>(gpu.sm.max_threads.value_or(2048));
  chip.clock = gpu.clock.boost.base();
  return chip;
}

}  // namespace rooftile::latency::learned
