// SPDX-License-Identifier: Apache-2.0
//
// A GEMM or an implicit-GEMM convolution as two gather views. Each operand of the forward, dgrad
// and wgrad passes (NCHW activations, KCRS filters) and of a plain GEMM is
//
//   address(lane, cross) = lane.base + cross.base + Y * width + X
//   Y = (lane.y + cross.y) / div_y,  X = (lane.x + cross.x) / div_x
//
// and predicated off when Y or X leave the image or are not divisible by div (the zeros of a
// strided dgrad). "lane" is the axis that consecutive threads walk, "cross" the other one. Lanes
// and crosses are grids, so a problem takes no memory whatever its size:
//
//   pass     A lanes    A cross    B lanes    B cross     M      N      K
//   forward  (n,p,q)    (c,r,s)    (c,r,s)    k           n*p*q  k      c*r*s
//   dgrad    (n,h,w)    (k,-r,-s)  (k,r,s)    c           n*h*w  c      k*r*s
//   wgrad    (n,p,q)    k          (n,p,q)    (c,r,s)     k      c*r*s  n*p*q
//
// Layouts other than these (NHWC, filters reordered in advance) are not described.
#pragma once

#include <cstdint>
#include <vector>

#include "core/dtype.h"
#include "core/integer.h"
#include "ops/kernel_work.h"
#include "traffic/access.h"

namespace rooftile::traffic {

/// In which order the CTAs of one plane of the grid start.
enum class CtaOrder : std::uint8_t {
  Column,   ///< all tiles of m for one column of n first, as cuDNN launches
  Row,      ///< all tiles of n for one row of m first
  Swizzled  ///< panels of `swizzle_rows` tiles of m, column by column inside a panel
};

/// Outputs m x n of one CTA and the depth k of one main-loop iteration.
struct CtaTile {
  std::int64_t m = 128, n = 128, k = 8;
  bool operator==(const CtaTile&) const = default;
};

struct Coordinate {
  std::int64_t base = 0, y = 0, x = 0;
};

/// images x rows x columns coordinates, the columns innermost.
struct LaneGrid {
  std::int64_t images = 1, rows = 1, columns = 1;
  std::int64_t image_stride = 0;  ///< elements between images
  std::int64_t step_y = 1, step_x = 1, offset_y = 0, offset_x = 0;
  [[nodiscard]] std::int64_t size() const { return images * rows * columns; }
};

/// channels x rows x columns coordinates (the taps of a filter), the columns innermost.
struct CrossGrid {
  std::int64_t channels = 1, rows = 1, columns = 1;
  std::int64_t channel_stride = 0;      ///< elements between channels
  std::int64_t step_y = 1, step_x = 1;  ///< dilation; negative for dgrad
  [[nodiscard]] std::int64_t size() const { return channels * rows * columns; }
};

struct GatherView {
  LaneGrid lanes;
  CrossGrid cross;
  std::int64_t height = 1, width = 1;  ///< bounds of Y and X
  std::int64_t div_y = 1, div_x = 1;
  bool lane_is_k = false;         ///< lanes walk the reduction axis
  std::int64_t lane_group = 1;    ///< of one row, where they walk the reduction axis
  std::int64_t base_address = 0;  ///< bytes
  std::int64_t group_stride = 0;  ///< elements between groups (batches)
  std::int64_t elements = 0;      ///< of the whole tensor
};

struct ImplicitGemm {
  std::int64_t m = 0, n = 0, k = 0;
  std::int64_t groups = 1;  ///< or the batch of a batched GEMM
  std::int64_t split_k = 1;
  CtaTile tile;
  std::int64_t element_bytes = 4;
  Access access;
  GatherView a, b;
  std::int64_t output_elements = 0;
  [[nodiscard]] std::int64_t tiles_m() const { return ceil_div(m, tile.m); }
  [[nodiscard]] std::int64_t tiles_n() const { return ceil_div(n, tile.n); }
  [[nodiscard]] std::int64_t ctas() const { return tiles_m() * tiles_n() * groups * split_k; }
  [[nodiscard]] std::int64_t iterations() const { return ceil_div(k, tile.k); }
  [[nodiscard]] std::int64_t iterations_per_split() const {
    return (iterations() + split_k - 1) / split_k;
  }
};

/// How the problem is cut.
struct CutOptions {
  CtaTile tile;
  std::int64_t split_k = 1;  ///< CTAs that share one output tile, each with a part of k
  Access access{};           ///< of the GPU
};

/// The layer must have passed ops::Conv2d::check().
ImplicitGemm make_conv_problem(const ops::ConvShape& conv, DType dtype, const CutOptions& cut);
/// A is m x k and B is k x n, both row-major.
ImplicitGemm make_gemm_problem(const ops::GemmShape& gemm, DType dtype, const CutOptions& cut);

/// The GEMM that a convolution is, per group; the batch is the number of groups.
ops::GemmShape gemm_of(const ops::ConvShape& conv);

/// The tile of DeLTA's kernels: 128 rows and the n of {128, 64, 32} that pads least, ties to the
/// larger (32 -> 32, 64 -> 64, 96 -> 32, 128 -> 128, 192 -> 64, 384 -> 128).
CtaTile delta_tile(std::int64_t n);

/// Whole bytes of an element in memory; formats below one byte count as one.
std::int64_t element_bytes(DType dtype);

/// Walks the crosses of a view from any index on without dividing.
class CrossCursor {
 public:
  CrossCursor(const CrossGrid& grid, std::int64_t index);
  [[nodiscard]] Coordinate coordinate() const {
    return {channel_ * grid_->channel_stride, row_ * grid_->step_y, column_ * grid_->step_x};
  }
  void next() {
    if (++column_ < grid_->columns) return;
    column_ = 0;
    if (++row_ < grid_->rows) return;
    row_ = 0;
    ++channel_;
  }

 private:
  const CrossGrid* grid_;
  std::int64_t channel_, row_, column_;
};

/// Sectors of one line that one request of a warp touches.
struct LineRequest {
  std::int64_t line = 0;
  std::uint32_t sectors = 0;
};

/// One operand tile of one main-loop iteration.
struct TileLoad {
  std::int64_t tile = 0;       ///< index along m (A) or n (B)
  std::int64_t tile_rows = 0;  ///< CtaTile::m or n
  std::int64_t k_begin = 0, k_end = 0;
  std::int64_t group = 0;
};

/// Appends the lines that the warps' requests for `load` touch, each request's sectors once. A
/// request is a warp of lanes at one k, or, where lanes walk k, as many rows of the tile as fill a
/// warp. `view` is one of the problem's.
void append_requests(const ImplicitGemm& problem, const GatherView& view, const TileLoad& load,
                     std::vector<LineRequest>& out);

}  // namespace rooftile::traffic
