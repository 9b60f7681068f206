// SPDX-License-Identifier: Apache-2.0
#include "cost/learned/gemm_form.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "core/integer.h"

namespace rooftile::cost::learned {

namespace {

constexpr double kLogFullTile = 14;        // log2(128 * 128)
constexpr std::int64_t kVectorTile = 128;  // outputs of a block of the matrix-vector kernel
constexpr double kMostAliased = 5;         // octaves: parts with HBM2 have 32 channels

/// The grid of a cut: everything but its memory traffic.
GemmCandidate grid_of(const traffic::ProductWork& problem, const Chip& chip, GemmTile tile,
                      std::int64_t split_k) {
  const ops::GemmShape& s = problem.shape;
  const double area = static_cast<double>(tile.along_n) * static_cast<double>(tile.along_m);
  const auto split = static_cast<double>(split_k);
  const double tiles = static_cast<double>(s.batch) *
                       static_cast<double>(ceil_div(s.n, tile.along_n)) *
                       static_cast<double>(ceil_div(s.m, tile.along_m));
  GemmCandidate cut;
  cut.split = split_k > 1;
  cut.depth = static_cast<double>(s.k) / split;
  cut.waves = tiles * split / chip.sms;
  cut.wave_seconds = 2.0 * area * chip.sms / chip.peak;
  cut.small = std::max(0.0, kLogFullTile - std::log2(area));
  cut.unaligned = (s.k % 4 != 0 || s.n % 4 != 0) ? 1.0 : 0.0;
  cut.stride = std::log2(problem.in_bytes) + std::countr_zero(static_cast<std::uint64_t>(s.k));
  return cut;
}

traffic::ProductBytes bytes_of(const traffic::ProductWork& problem, const Chip& chip, GemmTile tile,
                               std::int64_t split_k) {
  return traffic::product_bytes(problem,
                                {.tile_m = static_cast<double>(tile.along_m),
                                 .tile_n = static_cast<double>(tile.along_n),
                                 .split = static_cast<double>(split_k),
                                 .cluster = chip.cluster},
                                {.sms = chip.sms, .l2_bytes = chip.l2});
}

double compute_seconds(const GemmCandidate& cut, const Chip& chip, const GemmParameters& p,
                       double plateau) {
  const double whole = std::ceil(cut.waves);
  const double effective =
      whole - (1.0 - p.tail) * (whole - cut.waves) * std::min(1.0, whole - 1.0);
  const double occupancy = 1.0 + (whole <= 1 ? p.one_wave : whole == 2 ? p.two_waves : 0.0);
  const double slow =
      std::exp(p.small_tile * cut.small + p.unaligned * cut.unaligned +
               p.aliased * std::clamp(cut.stride - p.alias_from, 0.0, kMostAliased));
  const double latency = chip.slower_clock * p.latency * (1.0 + p.more_waves * (effective - 1.0));
  // What keeps units waiting takes as long where they are slower; where they are those of a cut-down
  // part it hides behind them.
  const double level = plateau / chip.units;
  const double waiting = chip.waiting > 0 ? chip.peak / chip.waiting : level;
  const double fed =
      occupancy * cut.wave_seconds * (level + waiting * (slow - 1)) * (cut.depth + p.depth);
  const double busy = std::max(plateau, 1.0) * cut.wave_seconds * cut.depth;
  return effective * (chip.units > 1 ? std::max(fed, busy) : fed) + latency;
}

double l2_seconds(const GemmCandidate& cut, const Chip& chip, const GemmParameters& p) {
  return cut.bytes.l2 / (chip.l2_bandwidth * p.l2);
}

double dram_seconds(double bytes, const Chip& chip, const GemmParameters& p) {
  // What was measured on the machine is attained by definition.
  const double share = chip.products < 1 ? chip.products * p.dram : 1.0;
  return bytes / (chip.bandwidth * share);
}

double split_seconds(const GemmCandidate& cut, const Chip& chip, const GemmParameters& p) {
  return cut.split ? chip.slower_clock * p.split : 0.0;
}

}  // namespace

traffic::PanelMisses misses_of(const GemmParameters& p) {
  return {.mid = p.miss_mid,
          .width = p.miss_width,
          .reuse_mid = p.reuse_mid,
          .reuse_width = p.reuse_width};
}

double quantize_seconds(const traffic::ProductWork& problem, const Chip& chip,
                        const GemmParameters& p) {
  if (p.quantize_row <= 0) return 0;
  constexpr double kMoved = 3;  // bytes of an element: 16 bits in, 8 out
  const double k = static_cast<double>(problem.shape.k);
  const double rows =
      static_cast<double>(problem.shape.batch) * static_cast<double>(problem.shape.m);
  const double alone = p.quantize_start + k * p.quantize_reach;
  const double busy = rows / chip.sms * (p.quantize_row + k * p.quantize_element);
  double bytes = kMoved * rows * k;
  if (problem.copies > 0 && chip.l2 > 0) {
    const double between = problem.bytes + bytes - problem.in_bytes * rows * k;
    bytes *= misses_of(p).left_cache(std::log2(between / chip.l2));
  }
  return std::max(
      {chip.slower_clock * alone, chip.slower_clock * busy, dram_seconds(bytes, chip, p)});
}

GemmCandidate cut_gemm(const traffic::ProductWork& problem, const Chip& chip, GemmTile tile,
                       std::int64_t split_k) {
  GemmCandidate cut = grid_of(problem, chip, tile, split_k);
  cut.bytes = bytes_of(problem, chip, tile, split_k);
  return cut;
}

TilesOf::TilesOf(const ops::GemmShape& shape, std::span<const GemmTile> library)
    : library_(library) {
  if (shape.m == 1) vector_ = GemmTile{.along_n = kVectorTile, .along_m = 1};
  if (shape.n == 1) vector_ = GemmTile{.along_n = 1, .along_m = kVectorTile};
}

double gemm_seconds(const GemmCandidate& cut, const Chip& chip, const GemmParameters& p,
                    double plateau, double limit) {
  const double compute = compute_seconds(cut, chip, p, plateau);
  const double split = split_seconds(cut, chip, p);
  if (compute + split >= limit) return limit;
  const double on_chip = std::max(compute, l2_seconds(cut, chip, p));
  if (on_chip + split >= limit) return limit;
  const double dram = dram_seconds(cut.bytes.dram(misses_of(p)), chip, p);
  return join_seconds(on_chip, dram, p.join) + split;
}

Breakdown GemmTime::breakdown(double residual) const {
  Breakdown breakdown{.join = join};
  breakdown.of(Resource::Compute) = Seconds::from_base(compute);
  breakdown.of(Resource::L2) = Seconds::from_base(l2);
  breakdown.of(Resource::Dram) = Seconds::from_base(dram);
  breakdown.of(Resource::Launch) = Seconds::from_base(split * residual + quantize);
  // Also where the time is the mean of several libraries' and not that of this cut.
  breakdown.residual = std::max((seconds - split - quantize) * residual, least) /
                       join_seconds(std::max(compute, l2), dram, join);
  return breakdown;
}

GemmTime best_cut(const traffic::ProductWork& problem, const Chip& chip, const GemmModel& model,
                  std::span<const GemmTile> tiles, double plateau) {
  const GemmParameters& p = model.parameters;
  GemmTime best;
  best.seconds = std::numeric_limits<double>::infinity();
  TilesOf(problem.shape, tiles).visit([&](GemmTile tile) {
    for (const std::int64_t split : model.split_k) {
      if (split > 1 && problem.shape.k < kMinSplitDepth * split) break;
      GemmCandidate cut = grid_of(problem, chip, tile, split);
      const double compute = compute_seconds(cut, chip, p, plateau);
      // Most cuts lose on compute time alone: their traffic need not be known.
      const double reduction = split_seconds(cut, chip, p);
      if (compute + reduction >= best.seconds) continue;
      cut.bytes = bytes_of(problem, chip, tile, split);
      const double l2 = l2_seconds(cut, chip, p);
      if (std::max(compute, l2) + reduction >= best.seconds) continue;
      const double moved = cut.bytes.dram(misses_of(p));
      const double dram = dram_seconds(moved, chip, p);
      const double seconds = join_seconds(std::max(compute, l2), dram, p.join) + reduction;
      if (seconds >= best.seconds) continue;
      best = {.seconds = seconds,
              .compute = compute,
              .l2 = l2,
              .dram = dram,
              .split = reduction,
              .least = std::max(cut.bytes.l2 / chip.l2_bandwidth, moved / chip.bandwidth),
              .join = p.join,
              .tile = tile,
              .split_k = split};
    }
  });
  best.quantize = quantize_seconds(problem, chip, p);
  best.seconds += best.quantize;
  return best;
}

namespace {

/// Geometric mean over the instruction sets that `counts` names; the cut is that of the fastest.
template <typename Counts>
std::optional<GemmTime> mean_time(const traffic::ProductWork& problem, const Chip& chip,
                                  const GemmModel& model, double plateau, const Counts& counts) {
  std::optional<GemmTime> fastest;
  double logs = 0;
  double count = 0;
  for (const auto& [isa, tiles] : model.tiles_of) {
    if (!counts(isa)) continue;
    const GemmTime time = best_cut(problem, chip, model, tiles, plateau);
    if (!fastest || time.seconds < fastest->seconds) fastest = time;
    logs += std::log(time.seconds), count += 1;
  }
  if (fastest) fastest->seconds = std::exp(logs / count);
  return fastest;
}

}  // namespace

GemmTime gemm_time(const traffic::ProductWork& problem, const Chip& chip, const GemmModel& model,
                   const hardware::GpuSpec& gpu, const Weights& weights, double plateau) {
  if (const auto own = model.tiles_of.find(gpu.isa); own != model.tiles_of.end())
    return best_cut(problem, chip, model, own->second, plateau);
  const std::string& family = gpu.arch.library.kernel_family;
  const auto kin = [&](const std::string& isa) {
    const auto it = weights.families.find(isa);
    return it != weights.families.end() && it->second == family;
  };
  if (const auto time = mean_time(problem, chip, model, plateau, kin)) return *time;
  const auto any = [](const std::string&) { return true; };
  GemmTime best = best_cut(problem, chip, model, model.tiles, plateau);
  if (const auto time = mean_time(problem, chip, model, plateau, any)) best.seconds = time->seconds;
  return best;
}

}  // namespace rooftile::cost::learned
