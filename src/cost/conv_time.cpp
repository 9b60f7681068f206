// SPDX-License-Identifier: Apache-2.0
#include "cost/conv_time.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <span>

#include "core/integer.h"
#include "core/text.h"
#include "cost/gemm_time.h"

namespace rooftile::cost {

namespace {

using traffic::ReadBytes;

constexpr double kFusedMacs = 16384;  // per channel and CTA: 16 x 32 filters x 32 tiles
constexpr std::array<Edges, 3> kImplicitTiles{{{128, 128}, {128, 64}, {128, 32}}};
constexpr std::array<Edges, 2> kStridedTiles{{{128, 128}, {128, 64}}};
constexpr std::array<Edges, 9> kFilterGradientTiles{{{128, 128},
                                                     {128, 64},
                                                     {128, 32},
                                                     {64, 128},
                                                     {64, 64},
                                                     {64, 32},
                                                     {32, 128},
                                                     {32, 64},
                                                     {32, 32}}};

bool strided_gradient(const ops::ConvShape& c) {
  return c.pass == ops::ConvPass::DataGradient && (c.stride_h > 1 || c.stride_w > 1);
}

/// Of a strided data gradient 1 of stride^2 products is not zero. Lanes of a warp are neighbours in
/// a row, so kernels skip taps by row, not by column.
double skipped_rows(const ops::ConvShape& c) {
  return strided_gradient(c) ? real(c.stride_h) : 1.0;
}

/// A layer as an implicit GEMM with one tile: what does not depend on the machine.
struct ImplicitLayer {
  const ops::ConvShape& conv;
  Edges edges;
  double element;  ///< bytes
  ops::GemmShape gemm;
  StreamTile tile;
  traffic::ClosedConv forms;

  ImplicitLayer(const ops::ConvShape& c, DType dtype, const TimeMachine& g, const Edges& e)
      : conv(c),
        edges(e),
        element(element_of(dtype)),
        gemm(traffic::gemm_of(c)),
        tile(tile_of(g, e, element)),
        forms(c, dtype, cta_tile(tile), g.access) {}
};

/// On a machine, or a part of one.
struct ImplicitRun {
  StreamTime time;
  ReadBytes read;
};

/// The time with the given bytes read of the operands.
StreamTime time_implicit(const ImplicitLayer& layer, const TimeMachine& g, double split,
                         const StreamTuning& tuning, const ReadBytes& read) {
  const ops::ConvShape& c = layer.conv;
  StreamWork work = stream_work(layer.gemm, layer.element);
  work.split = split;
  const double taps = real(c.r * c.s);
  work.taps = c.pass == ops::ConvPass::FilterGradient ? std::sqrt(taps) : taps;
  work.k /= skipped_rows(c);
  work.l1 = read.l1;
  work.l2 = read.l2;
  work.dram = read.dram + timed_output(output_bytes(layer.gemm, layer.element), split);
  return stream_time(g, work, layer.tile, tuning);
}

ImplicitRun run_implicit(const ImplicitLayer& layer, const TimeMachine& g, double split,
                         const StreamTuning& tuning) {
  const ReadBytes read = layer.forms.on(closed_machine(g, layer.tile, layer.element));
  return {.time = time_implicit(layer, g, split, tuning, read), .read = read};
}

ConvCandidate implicit_with(const ImplicitLayer& layer, const TimeMachine& g, double split,
                            const StreamTuning& tuning) {
  const ImplicitRun run = fastest_part(
      g, [&](const TimeMachine& part) { return run_implicit(layer, part, split, tuning); });
  ConvCandidate out;
  out.time = run.time;
  const double output = output_bytes(layer.gemm, layer.element);
  out.read = with_partial_sums(run.read, output, split);
  out.written = output + traffic::partial_sums(output, split);
  const ops::GemmShape& gemm = layer.gemm;
  out.flops = 2.0 * real(gemm.m) * real(gemm.n) * real(gemm.k) * real(gemm.batch) /
              skipped_rows(layer.conv);
  return out;
}

double pass_factor(const ops::ConvShape& c, const TimeConstants& fitted) {
  switch (c.pass) {
    case ops::ConvPass::Forward: return 1.0;
    case ops::ConvPass::DataGradient: return fitted.gradient;
    case ops::ConvPass::FilterGradient:
      return fitted.filter_gradient + fitted.filter_gradient_tap / std::sqrt(real(c.r * c.s));
  }
  return 1.0;
}

/// Shared-memory loads per multiply-add grow with 1/m + 1/n. Their clocks are those of an SM
/// whatever its lanes, so the extra is stated for 128.
double tile_extra(const ops::ConvShape& c, const Edges& edges, const TimeMachine& g) {
  if (c.pass != ops::ConvPass::FilterGradient) return 0;
  return g.constants.filter_gradient_tile * (64 / edges[0] + 64 / edges[1] - 1) * g.lanes / 128;
}

/// Seconds in which all SMs add up the parts of a filter gradient, which libraries cut along k.
double reduction_time(const ops::ConvShape& c, const TimeMachine& g) {
  if (c.pass != ops::ConvPass::FilterGradient) return 0;
  const double outputs = real(c.k * (c.c / c.groups) * c.r * c.s);
  return g.constants.filter_gradient_output * outputs / (g.sms * g.clock.base());
}

StreamTuning tuning_of(const ImplicitLayer& layer, const TimeMachine& g) {
  StreamTuning tuning = stream_tuning(g, tile_extra(layer.conv, layer.edges, g));
  if (strided_gradient(layer.conv)) tuning.epilogue += g.constants.strided_epilogue;
  return tuning;
}

/// What the gradients' kernels take longer than the streams say.
void lengthen(const ops::ConvShape& conv, const TimeMachine& g, StreamTime& time) {
  const double factor = pass_factor(conv, g.constants);
  time.dram *= factor;
  time.sm *= factor;
  const double reduction = reduction_time(conv, g);
  if (reduction > std::max(time.sm, time.dram)) time.limiter = Resource::Compute;
  time.sm += reduction;
}

ConvCandidate cut_implicit(const ImplicitLayer& layer, const TimeMachine& g, double split) {
  ConvCandidate out = implicit_with(layer, g, split, tuning_of(layer, g));
  lengthen(layer.conv, g, out.time);
  return out;
}

std::span<const Edges> tiles_of(const ops::ConvShape& c) {
  if (strided_gradient(c)) return kStridedTiles;
  if (c.pass == ops::ConvPass::FilterGradient) return kFilterGradientTiles;
  return kImplicitTiles;
}

ConvCandidate implicit_gemm(const ops::ConvShape& c, DType dtype, const TimeMachine& g) {
  const double most_parts = c.pass == ops::ConvPass::FilterGradient ? kMaxSplit : 1;
  ConvCandidate best;
  double least = std::numeric_limits<double>::infinity();
  for (const Edges& edges : tiles_of(c)) {
    if (leaves_out(g, tiles_of(c), edges, element_of(dtype))) continue;
    const ImplicitLayer layer(c, dtype, g, edges);
    for (double split = 1; split <= most_parts; split *= 2) {
      const ConvCandidate candidate = cut_implicit(layer, g, split);
      if (candidate.seconds() >= least) continue;
      least = candidate.seconds();
      best = candidate;
    }
  }
  return best;
}

ConvCandidate small_tile(const ops::ConvShape& c, DType dtype, const TimeMachine& g) {
  ConvCandidate out = implicit_with({c, dtype, g, {32, 32}}, g, 1,
                                    {.extra = g.constants.small_tile_extra,
                                     .prologue = g.constants.small_tile_prologue,
                                     .epilogue = 0});
  out.algorithm = ConvAlgorithm::ImplicitSmallTile;
  out.time.sm += out.time.dram;  // too few loads in flight to overlap
  out.time.dram = 0;
  return out;
}

/// A stride-1 3x3 layer as planes: `in` channels to `out` channels on n x h x w outputs.
struct Plane {
  double n, h, w, in, out;
  double source;  ///< bytes of the tensor that is convolved
  [[nodiscard]] double result() const { return 4 * n * h * w * out; }  ///< bytes
  [[nodiscard]] double filters() const { return 4 * 9 * in * out; }    ///< bytes
};

Plane plane_of(const ops::ConvShape& c) {
  const double image = 4 * real(c.n * c.c * c.h * c.w);
  const double gradient = 4 * real(c.n * c.k * c.p() * c.q());
  if (c.pass == ops::ConvPass::DataGradient) {
    return {real(c.n), real(c.h), real(c.w), real(c.k), real(c.c), gradient};
  }
  return {real(c.n), real(c.p()), real(c.q()), real(c.c), real(c.k), image};
}

ConvCandidate winograd_fused(const TimeMachine& g, const Plane& p) {
  // images x tile rows x tile columns of a CTA, 32 together, as the kernels' names say
  constexpr std::array<std::array<double, 3>, 6> kShapes{
      {{1, 4, 8}, {2, 4, 4}, {2, 2, 8}, {4, 2, 4}, {4, 1, 8}, {4, 4, 2}}};
  const double rows = std::ceil(p.h / 2);
  const double columns = std::ceil(p.w / 2);
  double patches = std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < (g.one_winograd_shape ? 1 : kShapes.size()); ++i) {
    const auto& s = kShapes[i];
    patches = std::min(patches,
                       std::ceil(p.n / s[0]) * std::ceil(rows / s[1]) * std::ceil(columns / s[2]));
  }
  const double filters = std::ceil(p.out / 32);
  const double ctas = patches * filters;
  const double bandwidth = attained_dram(g);
  ConvCandidate out{.algorithm = ConvAlgorithm::WinogradFused};
  const double clocks =
      p.in * kFusedMacs / g.lanes * (g.issue + g.constants.fused_extra) + g.constants.fused_cta;
  const double filter_transform = 4 * 25 * p.in * p.out / bandwidth;
  out.time.compute = std::ceil(ctas / g.sms) * p.in * kFusedMacs / g.lanes / g.clock.base();
  out.time.sm = std::ceil(ctas / g.sms) * clocks / g.clock.base() + filter_transform;
  out.read.dram = p.source + 4 * 16 * p.in * p.out;
  out.written = p.result();
  out.time.dram = (out.read.dram + out.written) / bandwidth;
  out.time.limiter = out.time.dram >= out.time.sm ? Resource::Dram : Resource::Compute;
  // Each CTA reads its 4x4 input tiles (10 x 18 pixels for 4 x 8 tiles) and transformed filters.
  out.read.l1 = ctas * p.in * 4 * (10 * 18 + 16 * 32);
  out.read.l2 = std::max(out.read.dram, out.read.l1);
  out.read.l1 = out.read.l2;
  out.time.tile = {.m = 32, .n = 32, .k = 8};
  out.time.ctas = ctas;
  out.time.concurrent = g.sms;
  out.flops = 2 * ctas * p.in * kFusedMacs;
  bind_to_levels(g, out.read, out.time);
  return out;
}

/// Part of an intermediate that does not stay in L2 until the next kernel.
double spilled(const TimeMachine& g, double bytes) {
  return bytes * std::clamp(1 - g.constants.l2_residency * g.l2_size.base() / bytes, 0.0, 1.0);
}

ConvCandidate winograd_nonfused(const TimeMachine& g, const Plane& p, bool filter_gradient) {
  const double images = filter_gradient ? p.n : std::ceil(p.n / 16) * 16;
  const double tiles = images * std::ceil(p.h / 4) * std::ceil(p.w / 4);
  StreamWork work{.m = tiles, .n = p.out, .k = p.in, .batch = 36, .taps = kNoMisses};
  if (filter_gradient) {
    work.m = p.in;
    work.k = tiles;
  }
  ConvCandidate out{.algorithm = ConvAlgorithm::WinogradNonfused};
  double least = std::numeric_limits<double>::infinity();
  for (const Edges& edges : kGemmTiles) {
    if (leaves_out(g, kGemmTiles, edges, 4)) continue;
    const StreamTime t =
        stream_time(g, work, tile_of(g, edges, 4),
                    {.extra = g.constants.nonfused_extra, .prologue = 0, .epilogue = 0});
    if (t.total() < least) {
      least = t.total();
      out.time = t;
    }
  }
  const double moved = spilled(g, 144 * tiles * p.in) + spilled(g, 144 * tiles * p.out) +
                       spilled(g, 144 * p.in * p.out);
  // A filter gradient reads both activations and writes filters.
  const double read = p.source + (filter_gradient ? p.result() : p.filters());
  out.written = (filter_gradient ? p.filters() : p.result()) + moved;
  out.read.dram = read + moved;
  const double transforms = (out.read.dram + out.written) / attained_dram(g);
  if (transforms > out.time.sm) out.time.limiter = Resource::Dram;
  out.time.sm += g.constants.nonfused_launch + transforms;
  const double gemm_loads = 36 * 4 *
                            (work.m * work.k * std::ceil(work.n / out.time.tile.n) +
                             work.n * work.k * std::ceil(work.m / out.time.tile.m));
  out.read.l1 = out.read.l2 = read + std::max(gemm_loads, moved);
  out.flops = 2 * 36 * work.m * work.n * work.k;
  bind_to_levels(g, out.read, out.time);
  return out;
}

ConvCandidate fft(const TimeMachine& g, const Plane& p) {
  constexpr double kBins = 544;  // 32 x 17 complex values of a tile
  const double tiles = p.n * std::ceil(p.h / 30) * std::ceil(p.w / 30);
  const double macs = 4 * kBins * tiles * std::ceil(p.in / 8) * 8 * std::ceil(p.out / 32) * 32;
  const double spectra = 8 * kBins * (tiles * (p.in + p.out) + p.in * p.out);
  ConvCandidate out{.algorithm = ConvAlgorithm::Fft};
  out.read.dram = spectra + p.source + p.filters();
  out.read.l1 = out.read.l2 = out.read.dram;
  out.written = spectra + p.result();
  out.time.compute = macs / (g.sms * g.lanes * g.clock.base());
  const double memory = (out.read.dram + out.written) / attained_dram(g);
  out.time.sm =
      out.time.compute * (g.issue + g.constants.fft_extra) + memory + g.constants.fft_launch;
  out.time.limiter = memory > out.time.compute ? Resource::Dram : Resource::Compute;
  out.time.tile = {.m = 32, .n = 32, .k = 8};
  out.time.ctas = tiles * std::ceil(p.out / 32);
  out.time.concurrent = g.sms;
  out.flops = 2 * macs;
  bind_to_levels(g, out.read, out.time);
  return out;
}

/// 1x1 with stride 1: the tensors are the matrices of the product already.
bool is_plain_gemm(const ops::ConvShape& c) {
  return c.r == 1 && c.s == 1 && c.stride_h == 1 && c.stride_w == 1 && c.pad_h == 0 && c.pad_w == 0;
}

/// Libraries take the plain GEMM, which can split k, where the implicit one has a single row of
/// tiles or leaves SMs idle even with its smallest. On larger grids the measured 1x1 rows are as
/// slow as the implicit GEMM; on such small ones there are no measurements.
bool takes_plain_gemm(const ops::ConvShape& c, const TimeMachine& g) {
  const ops::GemmShape gemm = traffic::gemm_of(c);
  const Edges& smallest = kImplicitTiles.back();
  const double rows = std::ceil(real(gemm.m) / smallest[0]);
  const double ctas = rows * std::ceil(real(gemm.n) / smallest[1]) * real(gemm.batch);
  return is_plain_gemm(c) && (rows == 1 || ctas < g.sms);
}

ConvCandidate plain_gemm(const ops::ConvShape& c, DType dtype, const TimeMachine& g) {
  const ops::GemmShape gemm = traffic::gemm_of(c);
  const GemmCandidate product = gemm_candidate(gemm, dtype, g);
  ConvCandidate out{.algorithm = ConvAlgorithm::ExplicitGemm};
  out.time = product.time;
  out.read = product.read;
  out.written = product.written;
  out.flops = 2.0 * real(gemm.m) * real(gemm.n) * real(gemm.k) * real(gemm.batch);
  return out;
}

/// im2col writes the m x k matrix; the product is the implicit GEMM's without the gather, all of
/// its loads missing L1.
ConvCandidate explicit_gemm(const ops::ConvShape& c, DType dtype, const TimeMachine& g) {
  const ops::GemmShape gemm = traffic::gemm_of(c);
  const double element = element_of(dtype);
  const double matrix = real(gemm.m) * real(gemm.k) * real(gemm.batch) * element;
  const double image = real(c.n * c.c * c.h * c.w) * element;
  const double output = output_bytes(gemm, element);
  GemmCandidate best;
  double least = std::numeric_limits<double>::infinity();
  for (const Edges& edges : kImplicitTiles) {
    if (leaves_out(g, kImplicitTiles, edges, element)) continue;
    const StreamTile tile = tile_of(g, edges, element);
    const GemmCandidate run = fastest_part(g, [&](const TimeMachine& part) {
      return run_gemm(gemm, dtype, part, {.tile = tile, .taps = 1});
    });
    if (run.time.total() >= least) continue;
    least = run.time.total();
    best = run;
  }
  ConvCandidate out{.algorithm = ConvAlgorithm::ExplicitGemm};
  out.time = best.time;
  out.time.sm += (image + matrix) / attained_dram(g) + g.launch.base();
  out.read = {
      .l1 = best.read.l1 + image, .l2 = best.read.l2 + image, .dram = best.read.dram + image};
  out.written = output + matrix;
  out.flops = 2.0 * real(gemm.m) * real(gemm.n) * real(gemm.k) * real(gemm.batch);
  return out;
}

ConvCandidate direct(const ops::ConvShape& c, DType dtype, const TimeMachine& g) {
  const double element = element_of(dtype);
  const double gradient = real(c.n * c.k * c.p() * c.q()) * element;
  ConvCandidate out{.algorithm = ConvAlgorithm::Direct};
  out.flops = 2 * real(c.n * c.p() * c.q()) * real(c.k) * real(c.c / c.groups) * real(c.r * c.s);
  const double read = gradient + real(c.k * (c.c / c.groups) * c.r * c.s) * element;
  out.read = {.l1 = read, .l2 = read, .dram = read};
  out.written = real(c.n * c.c * c.h * c.w) * element;
  const double peak = 2 * g.sms * g.lanes * g.clock.base();
  out.time.compute = out.flops / peak;
  out.time.sm =
      out.flops / (g.constants.direct_efficiency * peak) + (read + out.written) / attained_dram(g);
  out.time.limiter = Resource::Latency;
  out.time.concurrent = g.sms;
  return out;
}

bool is_depthwise(const ops::ConvShape& c) {
  return c.groups > 1 && c.groups == c.c;
}

/// One thread per output pixel walks the taps; a filter gradient has one CTA per filter and tap,
/// and all taps of a channel read its images again, from L2.
ConvCandidate depthwise(const ops::ConvShape& c, DType dtype, const TimeMachine& g) {
  // Of a tap: two loads, a multiply-add, bounds and addresses; of a thread: its indices.
  constexpr double kTapInstructions = 12, kThreadInstructions = 60;
  constexpr double kThreads = 256, kResidentThreads = 2048;  // of a CTA, of an SM
  const double element = element_of(dtype);
  const double taps = real(c.r * c.s);
  const double image = real(c.n * c.c * c.h * c.w);
  const double result = real(c.n * c.k * c.p() * c.q());
  const double filters = real(c.k) * taps;
  const bool data_gradient = c.pass == ops::ConvPass::DataGradient;
  const bool filter_gradient = c.pass == ops::ConvPass::FilterGradient;
  // A strided data gradient visits all taps to find those that hit.
  const double products = taps * (data_gradient ? image * real(c.k / c.c) : result);
  const double threads = data_gradient ? image : filter_gradient ? filters * kThreads : result;
  ConvCandidate out{.algorithm = ConvAlgorithm::Depthwise};
  out.flops = 2 * products;
  out.read.dram =
      element * (filter_gradient ? image + result : filters + (data_gradient ? result : image));
  out.written = element * (filter_gradient ? filters : threads);
  out.read.l2 = filter_gradient ? taps * out.read.dram : out.read.dram;
  out.read.l1 = std::max(out.read.l2, element * products * (filter_gradient ? 2 : 1));
  const double lanes = g.sms * g.vector_lanes * g.clock.base();
  out.time.compute = products / lanes;
  out.time.sm = (kTapInstructions * products + kThreadInstructions * threads) / lanes;
  out.time.dram = (out.read.dram + out.written) / attained_dram(g);
  out.time.limiter = out.time.dram >= out.time.sm ? Resource::Dram : Resource::Compute;
  out.time.tile = {.m = kThreads, .n = 1, .k = taps};
  out.time.ctas = std::ceil(threads / kThreads);
  out.time.concurrent = g.sms * (kResidentThreads / kThreads);
  bind_to_levels(g, out.read, out.time);
  return out;
}

bool winograd_applies(const ops::ConvShape& c, DType dtype, const TimeMachine& g) {
  return dtype == DType::Fp32 && !g.tensor && c.r == 3 && c.s == 3 && c.stride_h == 1 &&
         c.stride_w == 1 && c.dilation_h == 1 && c.dilation_w == 1 && c.groups == 1;
}

}  // namespace

std::string_view name_of(ConvAlgorithm algorithm) {
  switch (algorithm) {
    case ConvAlgorithm::ImplicitGemm: return "implicit_gemm";
    case ConvAlgorithm::ImplicitSmallTile: return "implicit_small_tile";
    case ConvAlgorithm::WinogradFused: return "winograd_fused";
    case ConvAlgorithm::WinogradNonfused: return "winograd_nonfused";
    case ConvAlgorithm::Fft: return "fft";
    case ConvAlgorithm::ExplicitGemm: return "explicit_gemm";
    case ConvAlgorithm::Direct: return "direct";
    case ConvAlgorithm::Depthwise: return "depthwise";
  }
  return "?";
}

Result<ConvAlgorithm> parse_conv_algorithm(std::string_view text) {
  constexpr std::array kAll{ConvAlgorithm::ImplicitGemm,  ConvAlgorithm::ImplicitSmallTile,
                            ConvAlgorithm::WinogradFused, ConvAlgorithm::WinogradNonfused,
                            ConvAlgorithm::Fft,           ConvAlgorithm::ExplicitGemm,
                            ConvAlgorithm::Direct,        ConvAlgorithm::Depthwise};
  std::vector<std::string_view> names;
  for (const ConvAlgorithm algorithm : kAll) {
    if (name_of(algorithm) == text) return algorithm;
    names.push_back(name_of(algorithm));
  }
  return usage_error(fmt::format("unknown --algorithm \"{}\"", printable(text)),
                     did_you_mean(text, names, "--algorithm is one of"));
}

double narrowest_tile(const ops::ConvShape& conv) {
  return strided_gradient(conv) ? kStridedTiles.back()[1] : kImplicitTiles.back()[1];
}

ConvCandidate implicit_candidate(const ops::ConvShape& conv, DType dtype, const TimeMachine& g,
                                 const ImplicitCut& cut) {
  return cut_implicit({conv, dtype, g, {cut.tile_m, cut.tile_n}}, g, cut.split);
}

StreamTime implicit_time(const ops::ConvShape& conv, DType dtype, const TimeMachine& g,
                         const ImplicitCut& cut, const ReadBytes& read) {
  const ImplicitLayer layer(conv, dtype, g, {cut.tile_m, cut.tile_n});
  StreamTime time = time_implicit(layer, g, cut.split, tuning_of(layer, g), read);
  lengthen(conv, g, time);
  return time;
}

std::vector<ConvCandidate> conv_candidates(const ops::ConvShape& c, DType dtype,
                                           const TimeMachine& g, const ConvTimeOptions& options) {
  std::vector<ConvCandidate> out{implicit_gemm(c, dtype, g)};
  if (options.implicit_gemm_only) return out;
  const bool filter_gradient = c.pass == ops::ConvPass::FilterGradient;
  if (c.pass == ops::ConvPass::Forward) {
    out.push_back(small_tile(c, dtype, g));
    if (!takes_plain_gemm(c, g)) out.push_back(explicit_gemm(c, dtype, g));
  }
  if (!filter_gradient && takes_plain_gemm(c, g)) out.push_back(plain_gemm(c, dtype, g));
  if (is_depthwise(c)) {
    out.push_back(depthwise(c, dtype, g));
  } else if (c.pass == ops::ConvPass::DataGradient) {
    out.push_back(direct(c, dtype, g));
  }
  if (winograd_applies(c, dtype, g)) {
    const Plane plane = plane_of(c);
    if (!filter_gradient) out.push_back(winograd_fused(g, plane));
    if (!filter_gradient || g.winograd_filter_gradient) {
      out.push_back(winograd_nonfused(g, plane, filter_gradient));
    }
    if (!filter_gradient) out.push_back(fft(g, plane));
  }
  std::sort(out.begin(), out.end(), [](const ConvCandidate& a, const ConvCandidate& b) {
    return a.seconds() < b.seconds();
  });
  return out;
}

}  // namespace rooftile::cost
