// SPDX-License-Identifier: Apache-2.0
#include "mapping/tile_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <variant>

#include "core/integer.h"
#include "mapping/occupancy.h"

namespace rooftile::mapping {

namespace {

struct TileSize {
  std::int64_t m, n;
};

// Tile sizes of the library kernels seen in profiles (cuBLAS, cuDNN, CUTLASS), largest first: a
// larger tile reuses more and is preferred as long as it fills the GPU.
constexpr std::array<TileSize, 5> kGemmTiles{{{128, 128}, {128, 64}, {64, 64}, {64, 32}, {32, 32}}};
constexpr std::int64_t kGemmDepth = 16;
// Threads of a vector kernel times elements per thread, as PyTorch launches them.
constexpr std::int64_t kVectorTile = 512;
constexpr std::int64_t kVectorThreads = 128;
constexpr std::int64_t kUsualThreadsPerSm = 2048;  // where the GPU's file states none

/// Relative time of the grid with tile `t`: whole waves of padded tiles.
double grid_cost(const ops::GemmShape& shape, TileSize t, std::int64_t sms) {
  const auto tiles = static_cast<double>(shape.batch) *
                     static_cast<double>(ceil_div(shape.m, t.m)) *
                     static_cast<double>(ceil_div(shape.n, t.n));
  // A smaller tile loads more bytes per FLOP: (m + n) / (m n) against the largest tile's.
  const double reuse_loss = static_cast<double>(t.m + t.n) / static_cast<double>(t.m * t.n) * 64.0;
  return std::ceil(tiles / static_cast<double>(sms)) * static_cast<double>(t.m * t.n) *
         (0.85 + 0.15 * reuse_loss);
}

TilePlan cut_gemm(const ops::GemmShape& shape, const hardware::GpuSpec& gpu) {
  const TileSize best =
      *std::min_element(kGemmTiles.begin(), kGemmTiles.end(), [&](TileSize a, TileSize b) {
        return grid_cost(shape, a, gpu.sm.count) < grid_cost(shape, b, gpu.sm.count);
      });
  TilePlan plan{.tile_m = best.m, .tile_n = best.n, .tile_k = kGemmDepth};
  const std::int64_t rows = ceil_div(shape.m, best.m);
  const std::int64_t columns = ceil_div(shape.n, best.n);
  plan.tiles = shape.batch * rows * columns;
  plan.concurrent = gpu.sm.count;
  return plan;
}

TilePlan cut_rows(const ops::RowShape& shape, ops::KernelClass kind, const hardware::GpuSpec& gpu) {
  const bool row_per_tile = kind == ops::KernelClass::Softmax || kind == ops::KernelClass::Norm;
  const std::int64_t elements = shape.rows * shape.columns;
  TilePlan plan{.tile_m = 1, .tile_n = row_per_tile ? shape.columns : kVectorTile};
  plan.tiles = row_per_tile ? shape.rows : ceil_div(elements, kVectorTile);
  SmLimits sm = sm_limits(gpu);
  if (!sm.max_threads) sm.max_threads = kUsualThreadsPerSm;
  plan.concurrent = gpu.sm.count * active_ctas({.threads = kVectorThreads}, sm);
  return plan;
}

TilePlan cut_attention(const ops::AttentionShape& shape, const hardware::GpuSpec& gpu) {
  constexpr std::int64_t kQueries = 128;  // FlashAttention-2 block of queries
  const std::int64_t blocks = ceil_div(shape.queries, kQueries);
  TilePlan plan{.tile_m = std::min(kQueries, shape.queries), .tile_n = shape.head_dim};
  plan.tiles = shape.batch * shape.heads * blocks;
  plan.concurrent = gpu.sm.count;
  return plan;
}

}  // namespace

ops::GemmShape implicit_gemm(const ops::ConvShape& c) {
  const std::int64_t channels = c.c / c.groups;
  const std::int64_t filters = c.k / c.groups;
  switch (c.pass) {
    case ops::ConvPass::Forward:
      return {.batch = c.groups, .m = c.n * c.p() * c.q(), .n = filters, .k = channels * c.r * c.s};
    case ops::ConvPass::DataGradient:
      return {.batch = c.groups, .m = c.n * c.h * c.w, .n = channels, .k = filters * c.r * c.s};
    case ops::ConvPass::FilterGradient:
      return {.batch = c.groups, .m = filters, .n = channels * c.r * c.s, .k = c.n * c.p() * c.q()};
  }
  return {};
}

double TilePlan::wave_factor() const {
  return std::ceil(waves()) / waves();
}

std::string TilePlan::label() const {
  return split_k > 1 ? fmt::format("{}x{}/{}", tile_m, tile_n, split_k)
                     : fmt::format("{}x{}", tile_m, tile_n);
}

TilePlan decompose(const ops::KernelWork& work, const hardware::GpuSpec& gpu) {
  if (const auto* gemm = std::get_if<ops::GemmShape>(&work.shape)) return cut_gemm(*gemm, gpu);
  if (const auto* conv = std::get_if<ops::ConvShape>(&work.shape)) {
    return cut_gemm(implicit_gemm(*conv), gpu);
  }
  if (const auto* attention = std::get_if<ops::AttentionShape>(&work.shape)) {
    return cut_attention(*attention, gpu);
  }
  return cut_rows(std::get<ops::RowShape>(work.shape), work.kind, gpu);
}

}  // namespace rooftile::mapping
