// SPDX-License-Identifier: Apache-2.0
#include "cost/learned/gemm_form.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "core/integer.h"

namespace rooftile::cost::learned {

namespace {

constexpr double kLogFullTile = 14;  // log2(128 * 128)

/// join_seconds() for the exponent 2.5.
double join(double a, double b) {
  const double larger = std::max(a, b);
  if (!(larger > 0)) return 0;
  const double ratio = std::min(a, b) / larger;
  return larger * std::pow(1.0 + ratio * ratio * std::sqrt(ratio), 0.4);
}

}  // namespace

GemmProblem gemm_problem(const ops::KernelWork& work, const ops::GemmShape& shape) {
  const auto outputs = static_cast<double>(shape.batch) * static_cast<double>(shape.m) *
                       static_cast<double>(shape.n);
  return {.shape = shape,
          .bytes = work.bytes().base(),
          .in_bytes = size_of(work.dtype).base(),
          .out_bytes = std::max(work.written.base() / outputs, 0.5)};
}

namespace {

/// The grid of a cut: everything but its memory traffic.
struct Grid {
  GemmCandidate cut;
  double columns = 0, rows = 0, tiles = 0;
};

Grid grid_of(const GemmProblem& problem, const Chip& chip, GemmTile tile, std::int64_t split_k) {
  const ops::GemmShape& s = problem.shape;
  const double area = static_cast<double>(tile.along_n) * static_cast<double>(tile.along_m);
  const auto split = static_cast<double>(split_k);
  Grid grid;
  grid.columns = static_cast<double>(ceil_div(s.n, tile.along_n));
  grid.rows = static_cast<double>(ceil_div(s.m, tile.along_m));
  grid.tiles = static_cast<double>(s.batch) * grid.columns * grid.rows;
  GemmCandidate& cut = grid.cut;
  cut.split = split_k > 1;
  cut.depth = static_cast<double>(s.k) / split;
  cut.waves = grid.tiles * split / chip.sms;
  cut.wave_seconds = 2.0 * area * chip.sms / chip.peak;
  cut.small = std::max(0.0, kLogFullTile - std::log2(area));
  cut.unaligned = (s.k % 4 != 0 || s.n % 4 != 0) ? 1.0 : 0.0;
  return grid;
}

void add_memory(const GemmProblem& problem, const Chip& chip, GemmTile tile, std::int64_t split_k,
                Grid& grid) {
  const ops::GemmShape& s = problem.shape;
  GemmCandidate& cut = grid.cut;
  const auto along_n = static_cast<double>(tile.along_n);
  const auto along_m = static_cast<double>(tile.along_m);
  const auto split = static_cast<double>(split_k);
  const double outputs =
      static_cast<double>(s.batch) * static_cast<double>(s.m) * static_cast<double>(s.n);
  // Partial sums are FP32, written and read once.
  const double partial_sums = cut.split ? 8.0 * split * outputs : 0.0;
  const double requested = problem.in_bytes * grid.tiles * split * (along_n + along_m) * cut.depth +
                           problem.out_bytes * outputs;
  cut.compulsory = (problem.bytes + partial_sums) / chip.bandwidth;
  cut.reread = std::max(0.0, requested / chip.bandwidth - cut.compulsory);
  const double running = std::min(grid.tiles, chip.sms);
  const double wave_columns = std::min(grid.columns, std::sqrt(running));
  const double wave_rows = std::min(grid.rows, running / wave_columns);
  const double shared =
      problem.in_bytes * cut.depth * (wave_columns * along_n + wave_rows * along_m);
  constexpr double kNoMisses = -60;  // L2 size unknown: assume that it is large enough
  cut.footprint = chip.l2 > 0 ? std::log2(shared / chip.l2) : kNoMisses;
}

double compute_seconds(const GemmCandidate& cut, const GemmParameters& p, double plateau) {
  const double whole = std::ceil(cut.waves);
  const double effective =
      whole - (1.0 - p.tail) * (whole - cut.waves) * std::min(1.0, whole - 1.0);
  const double occupancy = 1.0 + (whole <= 1 ? p.one_wave : whole == 2 ? p.two_waves : 0.0);
  const double slow = std::exp(p.small_tile * cut.small + p.unaligned * cut.unaligned);
  return plateau * slow * occupancy * effective * cut.wave_seconds * (cut.depth + p.depth);
}

double dram_seconds(const GemmCandidate& cut, const GemmParameters& p) {
  const double lost = 1.0 / (1.0 + std::exp((p.miss_mid - cut.footprint) / p.miss_width));
  return (cut.compulsory + cut.reread * lost) / p.dram;
}

double split_seconds(const GemmCandidate& cut, const GemmParameters& p) {
  return cut.split ? p.split : 0.0;
}

}  // namespace

GemmCandidate cut_gemm(const GemmProblem& problem, const Chip& chip, GemmTile tile,
                       std::int64_t split_k) {
  Grid grid = grid_of(problem, chip, tile, split_k);
  add_memory(problem, chip, tile, split_k, grid);
  return grid.cut;
}

double gemm_seconds(const GemmCandidate& cut, const GemmParameters& p, double plateau,
                    double limit) {
  const double compute = compute_seconds(cut, p, plateau);
  if (compute + split_seconds(cut, p) >= limit) return limit;
  return join(compute, dram_seconds(cut, p)) + split_seconds(cut, p);
}

Breakdown GemmTime::breakdown(double residual) const {
  Breakdown breakdown{.join = kGemmJoin};
  breakdown.of(Resource::Compute) = Seconds::from_base(compute);
  breakdown.of(Resource::Dram) = Seconds::from_base(dram);
  breakdown.of(Resource::Launch) = Seconds::from_base(split * residual);
  // Also where the time is the mean of several libraries' and not that of this cut.
  breakdown.residual = (seconds - split) * residual / join(compute, dram);
  return breakdown;
}

GemmTime best_cut(const GemmProblem& problem, const Chip& chip, const GemmModel& model,
                  std::span<const GemmTile> tiles, double plateau) {
  const GemmParameters& p = model.parameters;
  GemmTime best;
  best.seconds = std::numeric_limits<double>::infinity();
  for (const GemmTile tile : tiles) {
    for (const std::int64_t split : model.split_k) {
      if (split > 1 && problem.shape.k < kMinSplitDepth * split) break;
      Grid grid = grid_of(problem, chip, tile, split);
      const double compute = compute_seconds(grid.cut, p, plateau);
      // Most cuts lose on compute time alone: their traffic need not be known.
      const double reduction = split_seconds(grid.cut, p);
      if (compute + reduction >= best.seconds) continue;
      add_memory(problem, chip, tile, split, grid);
      const double dram = dram_seconds(grid.cut, p);
      const double seconds = join(compute, dram) + reduction;
      if (seconds >= best.seconds) continue;
      best = {.seconds = seconds,
              .compute = compute,
              .dram = dram,
              .split = reduction,
              .tile = tile,
              .split_k = split};
    }
  }
  return best;
}

namespace {

/// Geometric mean over the instruction sets that `counts` names; the cut is that of the fastest.
template <typename Counts>
std::optional<GemmTime> mean_time(const GemmProblem& problem, const Chip& chip,
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

GemmTime gemm_time(const GemmProblem& problem, const Chip& chip, const GemmModel& model,
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
