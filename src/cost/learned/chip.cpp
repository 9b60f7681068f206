// SPDX-License-Identifier: Apache-2.0
#include "cost/learned/chip.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace rooftile::cost::learned {

namespace {

/// Power per peak that differs by less is the same: files round both.
constexpr double kSamePower = 0.01;

/// The mean over the boards with this chip that somebody measured. More power per peak than such a
/// board has relieves at most in proportion; with less it is taken as it is.
std::optional<double> ceiling_of_chip(const hardware::GpuSpec& gpu, hardware::RateKey key,
                                      const Weights& weights) {
  const auto rate = weights.ceilings.find(name_of(key));
  if (rate == weights.ceilings.end()) return std::nullopt;
  const auto boards = rate->second.find(gpu.chip);
  if (boards == rate->second.end() || boards->second.empty()) return std::nullopt;
  const double own = watt_per_tflop(gpu, key);
  double sum = 0;
  for (const auto& [id, board] : boards->second) {
    const bool richer = board.watt_per_tflop > 0 && own > board.watt_per_tflop;
    const double relief = richer ? board.watt_per_tflop / own : 1.0;
    sum += std::log(std::max(1.0, board.factor * relief));
  }
  return std::exp(sum / static_cast<double>(boards->second.size()));
}

/// The board's published ceiling of this rate, or of the other format of the same units.
std::optional<double> own_ceiling(const hardware::GpuSpec& gpu, hardware::RateKey key) {
  if (const auto own = published_ceiling(gpu, key)) return own->factor;
  const auto twin = same_units(gpu, key);
  const auto other = twin ? published_ceiling(gpu, *twin) : std::nullopt;
  return other ? std::optional(other->factor) : std::nullopt;
}

/// Ceiling of this board over that of a sibling, where somebody published both; else 1.
double ceiling_ratio(const hardware::GpuSpec& gpu, hardware::RateKey key, std::string_view sibling,
                     const Weights& weights) {
  const auto own = own_ceiling(gpu, key);
  if (!own) return 1.0;
  for (const auto& rate : {std::optional(key), same_units(gpu, key)}) {
    if (!rate) continue;
    const auto chips = weights.ceilings.find(name_of(*rate));
    if (chips == weights.ceilings.end()) continue;
    const auto boards = chips->second.find(gpu.chip);
    if (boards == chips->second.end()) continue;
    const auto board = boards->second.find(sibling);
    if (board != boards->second.end()) return *own / board->second.factor;
  }
  return 1.0;
}

/// The level by the rules, held by those of measured boards with the same chip.
double between_siblings(double level, const hardware::GpuSpec& gpu, hardware::RateKey key,
                        const Plateau& plateau, const Weights& weights) {
  const auto boards = plateau.boards.find(gpu.chip);
  if (boards == plateau.boards.end()) return level;
  const double power = watt_per_tflop(gpu, key);
  double least = 0;
  double most = std::numeric_limits<double>::infinity();
  double equal = 0;
  double equals = 0;
  for (const auto& [id, board] : boards->second) {
    const double ratio = plateau.above_ceiling ? ceiling_ratio(gpu, key, id, weights) : 1.0;
    const double theirs = board.factor * ratio;
    const bool known = power > 0 && board.watt_per_tflop > 0;
    if (!known || std::fabs(power / board.watt_per_tflop - 1) < kSamePower)
      equal += std::log(theirs), equals += 1;
    else if (power < board.watt_per_tflop)
      least = std::max(least, theirs);
    else
      most = std::min(most, theirs);
  }
  if (equals > 0) return std::exp(equal / equals);
  return std::max(least, std::min(level, most));
}

}  // namespace

std::optional<hardware::RateKey> same_units(const hardware::GpuSpec& gpu, hardware::RateKey key) {
  if (key.dtype != DType::Fp16 && key.dtype != DType::Bf16) return std::nullopt;
  const hardware::RateKey other{.dtype = key.dtype == DType::Fp16 ? DType::Bf16 : DType::Fp16,
                                .pipe = key.pipe};
  const auto a = gpu.peak.find(key);
  const auto b = gpu.peak.find(other);
  if (a == gpu.peak.end() || b == gpu.peak.end() || a->second != b->second) return std::nullopt;
  return other;
}

double watt_per_tflop(const hardware::GpuSpec& gpu, hardware::RateKey key) {
  const auto peak = gpu.peak.find(key);
  if (!gpu.power_watt || peak == gpu.peak.end()) return 0;
  return *gpu.power_watt / (peak->second.base() * 1e-12);
}

std::optional<BoardFactor> published_ceiling(const hardware::GpuSpec& gpu, hardware::RateKey key) {
  const auto published = gpu.measured.rate.find(key);
  const auto peak = gpu.peak.find(key);
  if (published == gpu.measured.rate.end() || peak == gpu.peak.end()) return std::nullopt;
  return BoardFactor{.factor = std::max(1.0, peak->second / published->second),
                     .watt_per_tflop = watt_per_tflop(gpu, key)};
}

double ceiling_factor(const hardware::GpuSpec& gpu, hardware::RateKey key, const Weights& weights) {
  if (const auto own = own_ceiling(gpu, key)) return *own;
  const auto twin = same_units(gpu, key);
  if (const auto chip = ceiling_of_chip(gpu, key, weights)) return *chip;
  return twin ? ceiling_of_chip(gpu, *twin, weights).value_or(1.0) : 1.0;
}

namespace {

/// That of a short benchmark, which is what was measured.
double burst_plateau(const hardware::GpuSpec& gpu, const PlateauQuery& query,
                     const Plateau& plateau, const Weights& weights) {
  if (const auto it = plateau.measured.find(gpu.id); it != plateau.measured.end())
    return it->second;
  const auto& library = gpu.arch.library;
  const auto family =
      plateau.kappa.find(plateau.tensor ? library.tensor_family : library.kernel_family);
  const double kappa = family == plateau.kappa.end() ? plateau.generic : family->second;
  if (query.measured_ceiling) {
    if (plateau.above_ceiling) return kappa;
    const auto sheet = gpu.peak.find(query.key);
    return sheet == gpu.peak.end() ? kappa
                                   : std::max(1.0, kappa * query.peak / sheet->second.base());
  }
  const double ceiling = ceiling_factor(gpu, query.key, weights);
  if (plateau.tensor) {
    const double slow = tensor_slowdown(gpu, query.key, weights.constants.clock).value_or(ceiling);
    return between_siblings(kappa * slow, gpu, query.key, plateau, weights);
  }
  const double held = plateau.above_ceiling ? kappa * ceiling : std::max(kappa, ceiling);
  const double tau =
      power_demand(gpu, query.peak, plateau.load, weights.constants.clock).value_or(0.0);
  return between_siblings(std::max(held, tau), gpu, query.key, plateau, weights);
}

}  // namespace

double plateau(const hardware::GpuSpec& gpu, const PlateauQuery& query, const Plateau& plateau,
               const Weights& weights) {
  const double burst = burst_plateau(gpu, query, plateau, weights);
  if (!query.sustained || !plateau.tensor || query.measured_ceiling) return burst;
  return burst * sustained_slowdown(gpu, query.key, weights.constants.clock);
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

Chip clocked(Chip chip, const GemmModel& model) {
  // Units of A100, in whose clocks the loads and stores of a tile are counted: they take as many
  // with units of any rate.
  constexpr double kUsualFlop = 2048;  // per clock and SM
  chip.slower_clock = model.clocked ? kReferenceClock / chip.clock : 1.0;
  chip.waiting = model.clocked ? kUsualFlop * chip.sms * chip.clock : 0.0;
  return chip;
}

Chip chip_of(const Job& job, const hardware::Machine& machine, const Weights& weights) {
  return bound_to(job, chip_of(machine, weights));
}

double full_units(const hardware::GpuSpec& gpu, hardware::RateKey key) {
  const auto own = gpu.sm.flop_per_clock.find(key);
  const auto full = gpu.arch.sm.flop_per_clock.find(key);
  if (own == gpu.sm.flop_per_clock.end() || full == gpu.arch.sm.flop_per_clock.end()) return 1;
  const double faster = std::max(1.0, full->second / own->second);
  return faster / std::cbrt(faster);
}

Chip bound_to(const Job& job, Chip chip) {
  chip.peak = job.roof.compute.base();
  chip.bandwidth = job.roof.dram.base();
  if (job.units.pipe != hardware::Pipe::Tensor) chip.cluster = 1;
  return chip;
}

Chip chip_of(const hardware::Machine& machine, const Weights& weights) {
  const hardware::GpuSpec& gpu = machine.gpu;
  Chip chip;
  chip.sms = static_cast<double>(std::max<std::int64_t>(gpu.sm.count, 1));
  const Attained reached = attained(machine, weights.constants);
  chip.streaming = reached.streaming;
  chip.products = reached.products;
  chip.cluster = static_cast<double>(gpu.arch.library.cluster);
  chip.l2 = gpu.l2.size.value_or(Bytes{}).base();
  chip.l2_bandwidth = reached.l2.base();
  chip.l1 = gpu.l1.size.value_or(Bytes{}).base();
  chip.threads = static_cast<double>(gpu.sm.max_threads.value_or(2048));
  chip.clock = gpu.clock.boost.base();
  return chip;
}

}  // namespace rooftile::cost::learned
