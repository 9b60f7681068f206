// SPDX-License-Identifier: Apache-2.0
//
// Time of a matrix product, from how it is cut. For each tile and split-K that the library has,
//
//   e     = exp(small_tile halvings + unaligned + aliased max(0, log2(stride) - alias_from))
//   w     = tiles * split / SMs,  W = ceil(w),  k' = k / split
//   weff  = W - (1 - tail) (W - w) min(1, W - 1)               the last wave is partly hidden
//   t_c   = (P + c (e - 1)) occ weff 2 tile_m tile_n (k' + depth) SMs / peak
//           + latency (1 + more (weff - 1))                    c: below; P on vector lanes
//   t_l2  = bytes through L2 / its bandwidth                   (traffic/product.h)
//   t_m   = bytes from DRAM / (attained bandwidth)             panels that miss the L2 included
//   t     = (max(t_c, t_l2)^join + t_m^join)^(1 / join) + split cost + quantisation
//
// A model of the GPU's own kernels counts its latencies in clocks, and what small tiles keep tensor
// units waiting too: c is the FLOP per clock and SM over those of A100. An 8-bit product is preceded by
// a kernel that quantizes its activations, which one block of threads does row by row:
//
//   t_q   = max(start + k reach, m / SMs (row + k element), bytes / DRAM)
//
// and the smallest t is taken: libraries choose among kernels of nearly equal speed, so the time
// of the best cut is known better than its name. A matrix and a vector have a kernel of their own,
// which pads nothing: a tile of one row (or column). Fitting minimises through the same functions.
#pragma once

#include <optional>
#include <span>

#include "cost/learned/chip.h"
#include "ops/kernel_work.h"
#include "traffic/product.h"

namespace rooftile::cost::learned {

/// The part of the form that depends on shape, machine and cut, but on no parameter. Seconds are at
/// the data sheet's rates.
struct GemmCandidate {
  double wave_seconds = 0;  ///< of one whole wave per unit of k at peak
  double depth = 1;         ///< k'
  double waves = 1;         ///< w
  double small = 0;         ///< halvings of the tile area below 128 x 128
  double unaligned = 0;
  double stride = 0;  ///< log2 of the largest power of two that divides the bytes of a row of k
  bool split = false;
  traffic::ProductBytes bytes;
};

/// What the parameters say about the L2.
traffic::PanelMisses misses_of(const GemmParameters& p);

GemmCandidate cut_gemm(const traffic::ProductWork& problem, const Chip& chip, GemmTile tile,
                       std::int64_t split_k);
/// A split must leave this much of k to each part.
inline constexpr std::int64_t kMinSplitDepth = 64;

/// The tiles of a library for this product: a matrix and a vector have one more.
class TilesOf {
 public:
  TilesOf(const ops::GemmShape& shape, std::span<const GemmTile> library);
  template <typename Visit>
  void visit(const Visit& visit_tile) const {
    for (const GemmTile tile : library_) visit_tile(tile);
    if (vector_) visit_tile(*vector_);
  }

 private:
  std::span<const GemmTile> library_;
  std::optional<GemmTile> vector_;
};

/// GPU time of a cut; stops early and returns `limit` when it cannot be below it.
double gemm_seconds(const GemmCandidate& cut, const Chip& chip, const GemmParameters& p,
                    double plateau, double limit);

struct GemmTime {
  double seconds = 0;
  double compute = 0, l2 = 0, dram = 0, split = 0;  ///< seconds of the cut
  double quantize = 0;                              ///< seconds of the kernel before it
  double least = 0;  ///< seconds of the cut's bytes at the roofs: no residual undercuts them
  double join = 2.5;
  GemmTile tile;
  std::int64_t split_k = 1;

  /// `residual` times as long as the form says.
  [[nodiscard]] Breakdown breakdown(double residual) const;
};
/// Seconds of the kernel that quantizes the activations; 0 where the model has none.
double quantize_seconds(const traffic::ProductWork& problem, const Chip& chip,
                        const GemmParameters& p);
/// The fastest cut.
GemmTime best_cut(const traffic::ProductWork& problem, const Chip& chip, const GemmModel& model,
                  std::span<const GemmTile> tiles, double plateau);

/// GPU time of the product. Where tiles are known by instruction set, one that nobody has seen runs
/// those of its family. Without a family the time is the geometric mean over all (the fastest of
/// all is what no library reaches) and the cut the fastest.
GemmTime gemm_time(const traffic::ProductWork& problem, const Chip& chip, const GemmModel& model,
                   const hardware::GpuSpec& gpu, const Weights& weights, double plateau);

}  // namespace rooftile::cost::learned
