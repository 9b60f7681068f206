// SPDX-License-Identifier: Apache-2.0
#include "traffic/closed.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/integer.h"
#include "ops/touched_rows.h"
#include "traffic/cache_sim.h"
#include "traffic/conv_forms.h"
#include "traffic/reuse_stack.h"

namespace rooftile::traffic {

namespace {

constexpr std::int64_t kL2Ways = CacheMachine{}.l2_ways;
constexpr double kFlushed = 1.005;  // passes from which on fewer CTAs in flight may read less

/// Each level at least the compulsory bytes and at most the level above.
ReadBytes ordered(const OperandBytes& compulsory, const OperandBytes& l1, const OperandBytes& l2,
                  const OperandBytes& dram) {
  ReadBytes out;
  out.least = compulsory.sum();
  const auto add = [&out](double least, double first, double second, double third) {
    const double top = std::max(first, least);
    const double middle = std::clamp(second, least, top);
    out.l1 += top;
    out.l2 += middle;
    out.dram += std::clamp(third, least, middle);
  };
  add(compulsory.a, l1.a, l2.a, dram.a);
  add(compulsory.b, l1.b, l2.b, dram.b);
  return out;
}

/// Bytes of the input rows that a forward pass or a filter gradient reads, in whole units of
/// `unit` elements: rows that are skipped share sectors, and lines, with rows that are not.
double touched_input(const ops::ConvShape& c, double bytes, std::int64_t unit) {
  const std::int64_t rows = ops::touched_rows(c);
  const double planes = real(c.n * c.c) * bytes;
  if (rows == c.h) return planes * real(c.h * c.w);
  const std::int64_t runs = std::min(rows, c.h - rows + 1);
  const std::int64_t length = rows * c.w / runs;
  // Runs start at multiples of this, all of them equally often.
  const std::int64_t align = std::gcd(std::gcd(c.stride_h * c.w, c.h * c.w), unit);
  std::int64_t units = 0;
  for (std::int64_t start = 0; start < unit; start += align)
    units += ceil_div(start + length, unit);
  const double per_run = real(units * unit) / real(unit / align);
  return planes * std::min(real(c.h * c.w), real(runs) * per_run);
}

/// A data gradient with stride 1 is a forward convolution of the output's gradient.
ops::ConvShape mirrored(const ops::ConvShape& c) {
  ops::ConvShape m = c;
  m.c = c.k;
  m.k = c.c;
  m.h = c.p();
  m.w = c.q();
  m.pad_h = c.dilation_h * (c.r - 1) - c.pad_h;
  m.pad_w = c.dilation_w * (c.s - 1) - c.pad_w;
  m.pass = ops::ConvPass::Forward;
  return m;
}

/// One group's GEMM, cut.
struct Cut {
  ops::GemmShape gemm;
  CtaTile tile;
  std::int64_t rows, columns;  ///< tiles along m and n
  std::int64_t sector, line;   ///< elements
  double lanes;                ///< of a request
  double bytes;                ///< of an element

  Cut(const ops::GemmShape& g, const CtaTile& t, DType dtype, const Access& access)
      : gemm(g),
        tile(t),
        rows(ceil_div(g.m, t.m)),
        columns(ceil_div(g.n, t.n)),
        sector(access.sector_bytes / element_bytes(dtype)),
        line(access.line_bytes / element_bytes(dtype)),
        lanes(real(access.lanes)),
        bytes(real(element_bytes(dtype))) {}
  [[nodiscard]] double batch() const { return real(gemm.batch); }
  [[nodiscard]] double iterations() const { return real(ceil_div(gemm.k, tile.k)); }
  /// Bytes that all CTAs load of A (and B), each element of a tile once.
  [[nodiscard]] double a_loads() const {
    return real(gemm.m) * real(gemm.k) * real(columns) * batch() * bytes;
  }
  [[nodiscard]] double b_loads() const {
    return real(gemm.n) * real(gemm.k) * real(rows) * batch() * bytes;
  }
};

/// Co-resident CTAs are `sms` apart in the grid: those in the same column load the same B, and the
/// first one brings it into L1.
double column_sharing(std::int64_t rows, const ClosedMachine& machine) {
  const double active = real(machine.concurrent) / real(machine.sms);
  return std::clamp(real(rows) / real(machine.sms), 1.0, std::max(1.0, active));
}

/// They load the same A where their distance in the grid is a multiple of a column's height.
double row_sharing(std::int64_t rows, std::int64_t columns, const ClosedMachine& machine) {
  if (rows != 1 && machine.sms % rows != 0) return 1.0;
  const double active = real(machine.concurrent) / real(machine.sms);
  const double per_sm = real(rows) * real(columns) / real(machine.sms);
  return std::clamp(per_sm, 1.0, std::max(1.0, active));
}

/// Input elements per iteration of a strided data gradient: 1 of stride^2 lanes has a value.
double strided_gradient_unique(const ops::ConvShape& c, const CtaTile& tile, double slack) {
  const double rows = real(tile.m) / real(c.w);
  const double gradient_rows = (rows + real(c.r - 1)) / real(c.stride_h) + 1;
  const double images = 1 + (real(tile.m) - 1) / real(c.h * c.w);
  const double pixels = std::min(real(c.p() * c.q()), gradient_rows * real(c.q()));
  return images * (pixels + slack) * real(tile.k) / real(c.r * c.s);
}

/// Filters as a data gradient reads them: a warp request is lanes / depth input channels, each with
/// `depth` consecutive (k, r, s); the taps of one k are contiguous, and so are the channels.
double gradient_filter_inefficiency(const ops::ConvShape& c, const Cut& cut) {
  const double depth = real(cut.tile.k);
  const double taps = real(c.r * c.s);
  const double rows = std::max(1.0, cut.lanes / depth);
  const double segments = 1 + (depth - 1) / taps;
  const double length = depth / segments;
  const double sector = real(cut.sector);
  const double apart = rows * ((length - 1) / sector + 1);
  const double together = ((rows - 1) * taps + length - 1) / sector + 1;
  return segments * std::min(apart, together) * sector / (depth * rows);
}

/// Bytes at three levels, before CTAs share any.
struct Forms {
  OperandBytes least, once, lines, l1, unique;
};

Forms filter_gradient_forms(const ops::ConvShape& c, const Cut& cut) {
  const double taps = real(c.r * c.s);
  const double input = touched_input(c, cut.bytes, 1);
  const double gradient = real(c.n * c.k * c.p() * c.q()) * cut.bytes;
  // B: a warp request is lanes / depth taps of `depth` pixels; taps of one filter row overlap.
  const double depth = real(cut.tile.k);
  const double taps_per_warp = std::max(1.0, cut.lanes / depth);
  const double segments = 1 + (taps_per_warp - 1) / real(c.s);
  const double span =
      (depth - 1) * real(std::min(c.stride_w, cut.sector)) + taps_per_warp / segments - 1;
  const double crossings = 1 + (depth - 1) / real(c.q());
  const double sectors = segments * (span / real(cut.sector) + crossings);
  const double inside = inside_fraction({c.p(), c.r, c.stride_h, c.dilation_h, c.pad_h, c.h}) *
                        inside_fraction({c.q(), c.s, c.stride_w, c.dilation_w, c.pad_w, c.w});
  const double b_factor = sectors * real(cut.sector) / (depth * taps_per_warp) * inside;
  // L1 keeps the image rows of a tile's channels while k walks over them.
  const double channels =
      std::min(real(c.c / c.groups), (real(cut.tile.n) - 1) / taps + 1) * real(cut.columns);
  return {.least = {.a = gradient, .b = input},
          .once = {.a = gradient, .b = touched_input(c, cut.bytes, cut.sector)},
          .lines = {.a = gradient, .b = touched_input(c, cut.bytes, cut.line)},
          .l1 = {.a = cut.a_loads() * row_inefficiency(c.p() * c.q(), cut.tile.k, cut.sector),
                 .b = cut.b_loads() * b_factor},
          .unique = {.a = cut.a_loads(),
                     .b = channels / real(c.c / c.groups) * input * real(cut.rows)}};
}

Forms data_forms(const ops::ConvShape& conv, const Cut& cut) {
  const bool gradient = conv.pass == ops::ConvPass::DataGradient;
  const bool strided_gradient = gradient && (conv.stride_h > 1 || conv.stride_w > 1);
  const ops::ConvShape c = gradient && !strided_gradient ? mirrored(conv) : conv;
  double inefficiency = 0;
  double unique = 0;
  double image = 0;
  double sectors = 0;
  double lines = 0;
  if (strided_gradient) {
    const double sw = real(c.stride_w);
    const double per_warp =
        (cut.lanes / sw - 1) / real(cut.sector) + 1 + (cut.lanes - 1) / real(c.w) / 2;
    inefficiency = per_warp * real(cut.sector) / cut.lanes / real(c.stride_h);
    unique = strided_gradient_unique(c, cut.tile, real(cut.sector - 1));
    image = sectors = lines = real(c.n * c.k * c.p() * c.q()) * cut.bytes;
  } else {
    inefficiency = input_inefficiency(c, cut.sector, static_cast<std::int64_t>(cut.lanes));
    unique = unique_input(c, cut.tile, cut.sector);
    // A gradient counts whole: padding beyond the filter leaves rows of it unread, which no
    // kernel bothers to skip.
    const auto read = [&](std::int64_t unit) {
      return gradient ? real(c.n * c.c * c.h * c.w) * cut.bytes : touched_input(c, cut.bytes, unit);
    };
    image = read(1);
    sectors = read(cut.sector);
    lines = read(cut.line);
  }
  const double filters = real(cut.gemm.n) * real(cut.gemm.k) * cut.batch() * cut.bytes;
  const double pitch_factor = gradient ? gradient_filter_inefficiency(conv, cut)
                                       : row_inefficiency(cut.gemm.k, cut.tile.k, cut.sector);
  const double ctas = real(cut.rows) * real(cut.columns) * cut.batch();
  // The last, partial tile of m loads only the rows it has.
  const double filled = real(cut.gemm.m) / real(cut.rows * cut.tile.m);
  return {
      .least = {.a = image, .b = filters},
      .once = {.a = sectors, .b = filters},
      .lines = {.a = lines, .b = filters},
      .l1 = {.a = cut.a_loads() * inefficiency, .b = cut.b_loads() * pitch_factor},
      .unique = {.a = unique * cut.iterations() * ctas * filled * cut.bytes, .b = cut.b_loads()}};
}

}  // namespace

double partial_sums(double output, double split) {
  return split > 1 ? output * split : 0;
}

// IFmap passes: once when it stays in L2 along with a column of filters, else once per column of
// CTAs, unless so few waves run that several columns share a pass. Filters: once, unless the rows
// of a wave flush them out. What is read again is absent with the probability of its reuse
// distance.
GemmPasses column_passes(std::int64_t tiles_m, std::int64_t tiles_n, OperandBytes bytes,
                         const ClosedMachine& machine) {
  const double concurrent = real(machine.concurrent);
  const double waves = real(tiles_m) * real(tiles_n) / concurrent;
  GemmPasses passes;
  const double column = bytes.b / real(tiles_n);
  const double wave = bytes.a * std::min(1.0, concurrent / real(tiles_m));
  const auto again = [&](double times, double distance) {
    if (times <= 1) return 1.0;
    return 1 + (times - 1) * absent_after(distance, machine.l2_bytes, kL2Ways);
  };
  passes.a = again(std::min(real(tiles_n), waves), bytes.a + column);
  passes.b = again(std::ceil(real(tiles_m) / concurrent), wave + column);
  return passes;
}

ClosedConv::ClosedConv(const ops::ConvShape& conv, DType dtype, const CtaTile& tile,
                       const Access& access) {
  const Cut cut(gemm_of(conv), tile, dtype, access);
  const bool filter_gradient = conv.pass == ops::ConvPass::FilterGradient;
  const Forms forms = filter_gradient ? filter_gradient_forms(conv, cut) : data_forms(conv, cut);
  rows_ = cut.rows;
  columns_ = cut.columns;
  batch_ = cut.batch();
  // Whole sectors are an estimate: no more than the SMs request, no less than what they need.
  const auto sectors = [](double least, double once, double requested) {
    return std::clamp(once, least, std::max(least, requested));
  };
  once_ = {.a = sectors(forms.least.a, forms.once.a, forms.l1.a),
           .b = sectors(forms.least.b, forms.once.b, forms.l1.b)};
  lines_ = forms.lines;
  l1_ = forms.l1;
  unique_ = forms.unique;
}

ReadBytes ClosedConv::on(const ClosedMachine& machine) const {
  const OperandBytes l2{.a = unique_.a / row_sharing(rows_, columns_, machine),
                        .b = unique_.b / column_sharing(rows_, machine)};
  const GemmPasses passes =
      column_passes(rows_, columns_, {.a = lines_.a / batch_, .b = lines_.b / batch_}, machine);
  ReadBytes out = ordered(once_, l1_, l2, {.a = once_.a * passes.a, .b = once_.b * passes.b});
  out.flushed = passes.b > kFlushed;
  return out;
}

ReadBytes closed_conv(const ops::ConvShape& conv, DType dtype, const ClosedCut& how,
                      const ClosedMachine& machine) {
  return ClosedConv(conv, dtype, how.tile, machine.access).on(machine);
}

ReadBytes closed_gemm(const ops::GemmShape& gemm, DType dtype, const ClosedCut& how,
                      const ClosedMachine& machine) {
  const Cut cut(gemm, how.tile, dtype, machine.access);
  const double a = real(gemm.m) * real(gemm.k) * cut.batch() * cut.bytes;
  const double b = real(gemm.n) * real(gemm.k) * cut.batch() * cut.bytes;
  const OperandBytes l1{.a = cut.a_loads() * row_inefficiency(gemm.k, cut.tile.k, cut.sector),
                        .b = cut.b_loads()};
  const OperandBytes l2{.a = cut.a_loads(), .b = cut.b_loads() / column_sharing(cut.rows, machine)};
  OperandBytes dram{.a = a, .b = b};
  if ((a + b) / cut.batch() > machine.l2_bytes) {
    // Libraries choose the raster that reads least: columns, rows, or a square patch per wave.
    const double concurrent = real(machine.concurrent);
    const double waves = std::max(1.0, real(cut.rows) * real(cut.columns) / concurrent);
    const double edge = std::sqrt(concurrent);
    const double wide = std::clamp(edge, 1.0, real(cut.columns));
    const double high = std::clamp(concurrent / wide, 1.0, real(cut.rows));
    const OperandBytes column{.a = a * std::min(real(cut.columns), waves), .b = b};
    const OperandBytes row{.a = a, .b = b * std::min(real(cut.rows), waves)};
    const OperandBytes patch{.a = a * std::ceil(real(cut.columns) / wide),
                             .b = b * std::ceil(real(cut.rows) / high)};
    dram = patch;
    if (column.sum() < dram.sum()) dram = column;
    if (row.sum() < dram.sum()) dram = row;
  }
  return ordered({.a = a, .b = b}, l1, l2, dram);
}

ReadBytes closed_rows(const ops::KernelWork& work, const ops::RowShape& shape,
                      const ClosedMachine& machine) {
  const double read = work.read.base();
  ReadBytes out{.l1 = read, .l2 = read, .dram = read};
  const bool reduces =
      work.kind == ops::KernelClass::Softmax || work.kind == ops::KernelClass::Norm;
  // Rows up to 16 KiB live in the registers of a CTA (1024 threads x 4 values); longer ones are
  // read once for the statistics and once for the result.
  constexpr double kRegisterRow = 16 * 1024;
  const double row_bytes = real(shape.columns) * size_of(work.dtype).base();
  if (!reduces || row_bytes <= kRegisterRow) return out;
  out.l1 = out.l2 = 2 * read;
  const double in_flight = std::min(real(machine.concurrent), real(shape.rows)) * row_bytes;
  if (in_flight > machine.l2_bytes) out.dram = 2 * read;
  return out;
}

ReadBytes closed_attention(const ops::KernelWork& work, const ops::AttentionShape& s,
                           std::int64_t block, const ClosedMachine& machine) {
  const double element = size_of(work.dtype).base();
  const double head_bytes = real(s.keys) * real(s.cached_width()) * element;  // keys and values
  const double kv = head_bytes * real(s.batch) * real(s.kv_heads);
  // Query heads that share their keys are rows of one block, at least the 16 of a matrix
  // instruction, as in the decoding kernels of FlashAttention.
  constexpr double kLeastRows = 16;
  const double group = real(s.heads) / real(s.kv_heads);
  const double blocks = std::ceil(real(s.queries) * group / std::max(kLeastRows, real(block)));
  double attended = 1.0;  // share of the keys that an average query sees
  if (s.causal && s.queries > 1) attended = 1.0 - 0.5 * real(s.queries - 1) / real(s.keys);
  if (s.window > 0) attended = std::min(attended, real(s.window + block) / real(s.keys));
  attended = std::clamp(attended, 0.0, 1.0);
  const double least = work.read.base();
  const double reread = std::max(0.0, kv * blocks * attended - kv);
  ReadBytes out{.l1 = least + reread, .l2 = least + reread, .dram = least};
  // Blocks of one head run side by side and walk its keys in step. Keys of the heads in flight that
  // fit into L2 are read once, else once per wave of the head's blocks.
  const double concurrent = real(machine.concurrent);
  const double heads_in_flight = std::clamp(concurrent / blocks, 1.0, real(s.batch * s.kv_heads));
  if (heads_in_flight * head_bytes > machine.l2_bytes) {
    const double waves = std::max(1.0, blocks / concurrent);
    out.dram = std::min(out.l2, least + std::max(0.0, kv * (waves * attended - 1)));
  }
  return out;
}

}  // namespace rooftile::traffic
