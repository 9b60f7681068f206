// SPDX-License-Identifier: Apache-2.0
//
// Time of a matrix product, from how it is cut. For each tile and split-K that the library has,
//
//   w     = tiles * split / SMs,  W = ceil(w),  k' = k / split
//   weff  = W - (1 - tail) (W - w) min(1, W - 1)               the last wave is partly hidden
//   t_c   = P e occ weff 2 tile_m tile_n (k' + depth) SMs / peak
//   t_m   = (compulsory + max(0, L2 - compulsory) sigmoid((log2(footprint / L2 size) - mid) /
//   width))
//           / (dram * bandwidth)                               panels that a wave re-reads from
//           DRAM
//   t     = (t_c^2.5 + t_m^2.5)^0.4 + split cost
//
// and the smallest t is taken: libraries choose among kernels of nearly equal speed, so the time
// of the best cut is known better than its name. Fitting minimises through the same functions.
#pragma once

#include <span>

#include "cost/learned/chip.h"
#include "ops/kernel_work.h"

namespace rooftile::cost::learned {

/// The part of the form that depends on shape, machine and cut, but on no parameter.
struct GemmCandidate {
  double wave_seconds = 0;  ///< of one whole wave per unit of k at peak
  double depth = 1;         ///< k'
  double waves = 1;         ///< w
  double small = 0;         ///< halvings of the tile area below 128 x 128
  double unaligned = 0;
  double compulsory = 0;  ///< seconds of the compulsory bytes at the data sheet's bandwidth
  double reread = 0;      ///< the same of what tiles request beyond them
  double footprint = 0;   ///< log2(bytes that a wave shares / L2 size)
  bool split = false;
};

struct GemmProblem {
  ops::GemmShape shape;
  double bytes = 0;      ///< compulsory
  double in_bytes = 4;   ///< of an element of A and B
  double out_bytes = 4;  ///< of an element of C
};
GemmProblem gemm_problem(const ops::KernelWork& work, const ops::GemmShape& shape);

GemmCandidate cut_gemm(const GemmProblem& problem, const Chip& chip, GemmTile tile,
                       std::int64_t split_k);
/// A split must leave this much of k to each part.
inline constexpr std::int64_t kMinSplitDepth = 64;

/// GPU time of a cut; stops early and returns `limit` when it cannot be below it.
double gemm_seconds(const GemmCandidate& cut, const GemmParameters& p, double plateau,
                    double limit);

/// (compute^p + dram^p)^(1/p)
inline constexpr double kGemmJoin = 2.5;

struct GemmTime {
  double seconds = 0;
  double compute = 0, dram = 0, split = 0;  ///< seconds of the cut
  GemmTile tile;
  std::int64_t split_k = 1;

  /// `residual` times as long as the form says.
  [[nodiscard]] Breakdown breakdown(double residual) const;
};
/// The fastest cut.
GemmTime best_cut(const GemmProblem& problem, const Chip& chip, const GemmModel& model,
                  std::span<const GemmTile> tiles, double plateau);

/// GPU time of the product. Where tiles are known by instruction set, one that nobody has seen runs
/// those of its family. Without a family the time is the geometric mean over all (the fastest of
/// all is what no library reaches) and the cut the fastest.
GemmTime gemm_time(const GemmProblem& problem, const Chip& chip, const GemmModel& model,
                   const hardware::GpuSpec& gpu, const Weights& weights, double plateau);

}  // namespace rooftile::cost::learned
