// SPDX-License-Identifier: Apache-2.0
#include "traffic/implicit_gemm.h"

#include <algorithm>
#include <array>
#include <bit>

#include "core/integer.h"
#include "mapping/tile_plan.h"

namespace rooftile::traffic {

namespace {

constexpr std::int64_t kTensorAlignment = 256;  // bytes, as cudaMalloc

std::int64_t align_up(std::int64_t value) {
  return (value + kTensorAlignment - 1) / kTensorAlignment * kTensorAlignment;
}

/// The filter taps of `channels` channels, `sign` -1 for dgrad.
CrossGrid taps(const ops::ConvShape& c, std::int64_t channels, std::int64_t stride, int sign) {
  return {.channels = channels,
          .rows = c.r,
          .columns = c.s,
          .channel_stride = stride,
          .step_y = sign * c.dilation_h,
          .step_x = sign * c.dilation_w};
}

CrossGrid strided(std::int64_t count, std::int64_t stride) {
  return {.channels = count, .channel_stride = stride};
}

/// Input pixels under output pixel (n, p, q), before the taps are added.
LaneGrid input_pixels(const ops::ConvShape& c) {
  return {.images = c.n,
          .rows = c.p(),
          .columns = c.q(),
          .image_stride = c.c * c.h * c.w,
          .step_y = c.stride_h,
          .step_x = c.stride_w,
          .offset_y = -c.pad_h,
          .offset_x = -c.pad_w};
}

/// A row-major matrix whose rows are `cross` and whose columns are the reduction axis.
GatherView dense_k_view(std::int64_t rows, std::int64_t k, std::int64_t depth) {
  return {.lanes = {.columns = k},
          .cross = strided(rows, k),
          .width = k,
          .lane_is_k = true,
          .lane_group = depth};
}

/// The sizes; the views are still to be set.
ImplicitGemm cut_problem(const ops::GemmShape& shape, DType dtype, const CutOptions& cut) {
  ImplicitGemm g;
  g.m = shape.m;
  g.n = shape.n;
  g.k = shape.k;
  g.groups = shape.batch;
  g.split_k = cut.split_k;
  g.tile = cut.tile;
  g.element_bytes = element_bytes(dtype);
  g.access = cut.access;
  return g;
}

void forward_views(const ops::ConvShape& c, ImplicitGemm& g) {
  const std::int64_t channels = c.c / c.groups;
  const std::int64_t filters = c.k / c.groups;
  g.a = {.lanes = input_pixels(c),
         .cross = taps(c, channels, c.h * c.w, 1),
         .height = c.h,
         .width = c.w,
         .group_stride = channels * c.h * c.w,
         .elements = c.n * c.c * c.h * c.w};
  g.b = dense_k_view(filters, g.k, g.tile.k);
  g.b.group_stride = filters * g.k;
  g.b.elements = c.k * g.k;
  g.output_elements = c.n * c.k * c.p() * c.q();
}

void data_gradient_views(const ops::ConvShape& c, ImplicitGemm& g) {
  const std::int64_t channels = c.c / c.groups;
  const std::int64_t filters = c.k / c.groups;
  const std::int64_t window = c.r * c.s;
  const std::int64_t plane = c.p() * c.q();
  g.a = {.lanes = {.images = c.n,
                   .rows = c.h,
                   .columns = c.w,
                   .image_stride = c.k * plane,
                   .offset_y = c.pad_h,
                   .offset_x = c.pad_w},
         .cross = taps(c, filters, plane, -1),
         .height = c.p(),
         .width = c.q(),
         .div_y = c.stride_h,
         .div_x = c.stride_w,
         .group_stride = filters * plane,
         .elements = c.n * c.k * plane};
  g.b = {.lanes = {.images = filters, .columns = window, .image_stride = channels * window},
         .cross = strided(channels, window),
         .width = window,
         .lane_is_k = true,
         .lane_group = g.tile.k,
         .group_stride = filters * channels * window,
         .elements = c.k * channels * window};
  g.output_elements = c.n * c.c * c.h * c.w;
}

void filter_gradient_views(const ops::ConvShape& c, ImplicitGemm& g) {
  const std::int64_t channels = c.c / c.groups;
  const std::int64_t filters = c.k / c.groups;
  const std::int64_t plane = c.p() * c.q();
  g.a = {.lanes = {.images = c.n, .rows = c.p(), .columns = c.q(), .image_stride = c.k * plane},
         .cross = strided(filters, plane),
         .height = c.p(),
         .width = c.q(),
         .lane_is_k = true,
         .lane_group = g.tile.k,
         .group_stride = filters * plane,
         .elements = c.n * c.k * plane};
  g.b = {.lanes = input_pixels(c),
         .cross = taps(c, channels, c.h * c.w, 1),
         .height = c.h,
         .width = c.w,
         .lane_is_k = true,
         .lane_group = g.tile.k,
         .group_stride = channels * c.h * c.w,
         .elements = c.n * c.c * c.h * c.w};
  g.output_elements = c.k * channels * c.r * c.s;
}

/// Collects the distinct sectors of one warp request.
class RequestBuilder {
 public:
  RequestBuilder(const Access& access, std::vector<LineRequest>& out)
      : out_(out),
        begin_(out.size()),
        sector_shift_(std::countr_zero(static_cast<std::uint64_t>(access.sector_bytes))),
        line_shift_(
            std::countr_zero(static_cast<std::uint64_t>(access.line_bytes / access.sector_bytes))) {
  }

  /// Every sector of the bytes [first, last].
  void add_interval(std::int64_t first, std::int64_t last) {
    std::int64_t sector = first >> sector_shift_;
    const std::int64_t end = last >> sector_shift_;
    while (sector <= end) {
      const std::int64_t line = sector >> line_shift_;
      const std::int64_t line_first = line << line_shift_;
      const std::int64_t line_last = line_first + (std::int64_t{1} << line_shift_) - 1;
      const std::int64_t stop = std::min(end, line_last);
      add(line, ((2U << (stop - line_first)) - 1U) & ~((1U << (sector - line_first)) - 1U));
      sector = stop + 1;
    }
  }

 private:
  void add(std::int64_t line, std::uint32_t mask) {
    for (std::size_t i = out_.size(); i > begin_; --i) {
      if (out_[i - 1].line == line) {
        out_[i - 1].sectors |= mask;
        return;
      }
    }
    out_.push_back({.line = line, .sectors = mask});
  }

  std::vector<LineRequest>& out_;
  std::size_t begin_;
  int sector_shift_, line_shift_;  ///< sizes are powers of two; a line's in sectors
};

/// Consecutive lanes of one image row.
struct LaneRun {
  std::int64_t base = 0, y = 0, x = 0, step = 1, length = 0;
};

void add_run(const ImplicitGemm& g, const GatherView& v, const LaneRun& run,
             const Coordinate& cross, std::int64_t offset, RequestBuilder& request) {
  const std::int64_t bytes = g.element_bytes;
  std::int64_t y = run.y + cross.y;
  std::int64_t x = run.x + cross.x;
  std::int64_t length = run.length;
  if (v.div_y > 1) {
    if (y % v.div_y != 0) return;
    y /= v.div_y;
  }
  if (y < 0 || y >= v.height) return;
  if (v.div_x > 1) {  // dgrad, the step is 1: keep the lanes whose x is divisible
    const std::int64_t skip = ((-x) % v.div_x + v.div_x) % v.div_x;
    if (skip >= length) return;
    x = (x + skip) / v.div_x;
    length = (length - skip - 1) / v.div_x + 1;
  }
  std::int64_t low = 0;
  std::int64_t high = length - 1;
  if (x < 0) low = ceil_div(-x, run.step);
  if (x + high * run.step >= v.width) {
    if (x >= v.width) return;
    high = (v.width - 1 - x) / run.step;
  }
  if (low > high) return;
  const std::int64_t origin =
      (offset + run.base + cross.base + y * v.width + x) * bytes + v.base_address;
  if (run.step * bytes <= g.access.sector_bytes) {
    request.add_interval(origin + low * run.step * bytes,
                         origin + high * run.step * bytes + bytes - 1);
    return;
  }
  for (std::int64_t i = low; i <= high; ++i) {
    request.add_interval(origin + i * run.step * bytes, origin + i * run.step * bytes + bytes - 1);
  }
}

/// A lane index split into image, row and column once, for all crosses of a tile.
struct LanePosition {
  std::int64_t image = 0, row = 0, column = 0;
};

LanePosition position_of(const LaneGrid& grid, std::int64_t lane) {
  const std::int64_t line = lane / grid.columns;
  return {.image = line / grid.rows, .row = line % grid.rows, .column = lane % grid.columns};
}

/// The lanes [at, at + count) at one cross; `at` moves past them.
void add_lanes(const ImplicitGemm& g, const GatherView& v, LanePosition& at, std::int64_t count,
               const Coordinate& cross, std::int64_t offset, RequestBuilder& request) {
  const LaneGrid& grid = v.lanes;
  while (count > 0) {
    const std::int64_t length = std::min(count, grid.columns - at.column);
    const LaneRun run{.base = at.image * grid.image_stride,
                      .y = at.row * grid.step_y + grid.offset_y,
                      .x = at.column * grid.step_x + grid.offset_x,
                      .step = grid.step_x,
                      .length = length};
    add_run(g, v, run, cross, offset, request);
    count -= length;
    at.column += length;
    if (at.column < grid.columns) return;
    at.column = 0;
    if (++at.row == grid.rows) {
      at.row = 0;
      ++at.image;
    }
  }
}

/// Lanes along the tile: one request is a warp of them at one k.
void append_lane_tile(const ImplicitGemm& g, const GatherView& v, const TileLoad& load,
                      std::vector<LineRequest>& out) {
  const std::int64_t offset = load.group * v.group_stride;
  const std::int64_t begin = load.tile * load.tile_rows;
  const std::int64_t end = std::min(v.lanes.size(), begin + load.tile_rows);
  const LanePosition first = position_of(v.lanes, begin);
  CrossCursor cross(v.cross, load.k_begin);
  for (std::int64_t k = load.k_begin; k < load.k_end; ++k, cross.next()) {
    LanePosition at = first;
    for (std::int64_t lane = begin; lane < end; lane += g.access.lanes) {
      const std::int64_t count = std::min(g.access.lanes, end - lane);
      RequestBuilder request(g.access, out);
      add_lanes(g, v, at, count, cross.coordinate(), offset, request);
    }
  }
}

/// Lanes along k: one request is as many rows of the tile as fill a warp.
void append_cross_tile(const ImplicitGemm& g, const GatherView& v, const TileLoad& load,
                       std::vector<LineRequest>& out) {
  const std::int64_t offset = load.group * v.group_stride;
  const std::int64_t rows_per_warp = std::max<std::int64_t>(1, g.access.lanes / v.lane_group);
  const std::int64_t begin = load.tile * load.tile_rows;
  const std::int64_t end = std::min(v.cross.size(), begin + load.tile_rows);
  const LanePosition first = position_of(v.lanes, load.k_begin);
  const std::int64_t count = std::min(v.lanes.size(), load.k_end) - load.k_begin;
  CrossCursor cross(v.cross, begin);
  for (std::int64_t row = begin; row < end; row += rows_per_warp) {
    RequestBuilder request(g.access, out);
    for (std::int64_t i = row; i < std::min(end, row + rows_per_warp); ++i, cross.next()) {
      LanePosition at = first;
      add_lanes(g, v, at, count, cross.coordinate(), offset, request);
    }
  }
}

}  // namespace

CrossCursor::CrossCursor(const CrossGrid& grid, std::int64_t index)
    : grid_(&grid),
      channel_(index / (grid.rows * grid.columns)),
      row_(index / grid.columns % grid.rows),
      column_(index % grid.columns) {
}

void append_requests(const ImplicitGemm& problem, const GatherView& view, const TileLoad& load,
                     std::vector<LineRequest>& out) {
  if (view.lane_is_k) {
    append_cross_tile(problem, view, load, out);
  } else {
    append_lane_tile(problem, view, load, out);
  }
}

ops::GemmShape gemm_of(const ops::ConvShape& c) {
  return mapping::implicit_gemm(c);
}

ImplicitGemm make_conv_problem(const ops::ConvShape& conv, DType dtype, const CutOptions& cut) {
  const ops::GemmShape shape = gemm_of(conv);
  ImplicitGemm g = cut_problem(shape, dtype, cut);
  switch (conv.pass) {
    case ops::ConvPass::Forward: forward_views(conv, g); break;
    case ops::ConvPass::DataGradient: data_gradient_views(conv, g); break;
    case ops::ConvPass::FilterGradient: filter_gradient_views(conv, g); break;
  }
  g.b.base_address = align_up(g.a.elements * g.element_bytes);
  return g;
}

ImplicitGemm make_gemm_problem(const ops::GemmShape& gemm, DType dtype, const CutOptions& cut) {
  ImplicitGemm g = cut_problem(gemm, dtype, cut);
  g.a = dense_k_view(gemm.m, gemm.k, cut.tile.k);
  g.b = {.lanes = {.columns = gemm.n}, .cross = strided(gemm.k, gemm.n), .width = gemm.n};
  g.a.group_stride = gemm.m * gemm.k;
  g.b.group_stride = gemm.k * gemm.n;
  g.a.elements = gemm.batch * gemm.m * gemm.k;
  g.b.elements = gemm.batch * gemm.k * gemm.n;
  g.output_elements = gemm.batch * gemm.m * gemm.n;
  g.b.base_address = align_up(g.a.elements * g.element_bytes);
  return g;
}

CtaTile delta_tile(std::int64_t n) {
  CtaTile best;
  std::int64_t padded = (n + 127) / 128 * 128;
  for (const std::int64_t candidate : std::array<std::int64_t, 2>{64, 32}) {
    const std::int64_t size = ceil_div(n, candidate) * candidate;
    if (size < padded) {
      padded = size;
      best.n = candidate;
    }
  }
  return best;
}

std::int64_t element_bytes(DType dtype) {
  return std::max<std::int64_t>(1, static_cast<std::int64_t>(size_of(dtype).base()));
}

}  // namespace rooftile::traffic
