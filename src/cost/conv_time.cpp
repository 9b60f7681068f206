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
#include "cost/conv_simple.h"
#include "cost/stream_parts.h"

namespace rooftile::cost {

namespace {

using traffic::ReadBytes;

constexpr double kAnyTime = std::numeric_limits<double>::infinity();
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
  DType dtype;
  double element;  ///< bytes
  ops::GemmShape gemm;
  StreamTile tile;
  traffic::ClosedConv forms;

  ImplicitLayer(const ops::ConvShape& c, DType d, const TimeMachine& g, const Edges& e)
      : conv(c),
        edges(e),
        dtype(d),
        element(element_of(d)),
        gemm(traffic::gemm_of(c)),
        tile(tile_of(g, e, element)),
        forms(c, d, cta_tile(tile), g.access) {}
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
  work.dram = read.dram + timed_output(output_bytes(layer.gemm, layer.dtype), split);
  return stream_time(g, work, layer.tile, tuning);
}

ImplicitRun run_implicit(const ImplicitLayer& layer, const TimeMachine& g, double split,
                         const StreamTuning& tuning) {
  const ReadBytes read = layer.forms.on(closed_machine(g, layer.tile, layer.element));
  return {.time = time_implicit(layer, g, split, tuning, read), .read = read};
}

ConvCandidate implicit_with(const ImplicitLayer& layer, const TimeMachine& g, double split,
                            const StreamTuning& tuning, double limit) {
  const ImplicitRun run = fastest_part(
      g, limit, [&](const TimeMachine& part) { return run_implicit(layer, part, split, tuning); });
  ConvCandidate out;
  out.time = run.time;
  const double output = output_bytes(layer.gemm, layer.dtype);
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

/// What the gradients' kernels take longer than the streams say, or shorter, but no level delivers
/// more than it has.
void lengthen(const ops::ConvShape& conv, const TimeMachine& g, const ReadBytes& read,
              StreamTime& time) {
  const double factor = pass_factor(conv, g.constants);
  time.dram *= factor;
  time.sm *= factor;
  const double reduction = reduction_time(conv, g);
  if (reduction > std::max(time.sm, time.dram)) time.limiter = Resource::Compute;
  time.sm += reduction;
  bind_to_levels(g, read, time);
}

/// One that takes `limit` seconds or more need not be the fastest of its kind.
ConvCandidate cut_implicit(const ImplicitLayer& layer, const TimeMachine& g, double split,
                           double limit) {
  const double factor = pass_factor(layer.conv, g.constants);
  ConvCandidate out = implicit_with(layer, g, split, tuning_of(layer, g), limit / factor);
  lengthen(layer.conv, g, out.read, out.time);
  return out;
}

std::span<const Edges> tiles_of(const ops::ConvShape& c) {
  if (strided_gradient(c)) return kStridedTiles;
  if (c.pass == ops::ConvPass::FilterGradient) return kFilterGradientTiles;
  return kImplicitTiles;
}

/// The fastest; any where none takes less than `limit` seconds.
ConvCandidate implicit_gemm(const ops::ConvShape& c, DType dtype, const TimeMachine& g,
                            double limit) {
  const double most_parts = c.pass == ops::ConvPass::FilterGradient ? kMaxSplit : 1;
  ConvCandidate best;
  double least = kAnyTime;
  for (const Edges& edges : tiles_of(c)) {
    if (leaves_out(g, tiles_of(c), edges, element_of(dtype))) continue;
    const ImplicitLayer layer(c, dtype, g, edges);
    for (double split = 1; split <= most_parts; split *= 2) {
      const ConvCandidate candidate = cut_implicit(layer, g, split, std::min(least, limit));
      if (candidate.seconds() >= least) continue;
      least = candidate.seconds();
      best = candidate;
    }
  }
  return best;
}

ConvCandidate small_tile(const ops::ConvShape& c, DType dtype, const TimeMachine& g, double limit) {
  ConvCandidate out = implicit_with({c, dtype, g, {32, 32}}, g, 1,
                                    {.extra = g.constants.small_tile_extra,
                                     .prologue = g.constants.small_tile_prologue,
                                     .epilogue = 0},
                                    limit);
  out.algorithm = ConvAlgorithm::ImplicitSmallTile;
  out.time.sm += out.time.dram;  // too few loads in flight to overlap
  out.time.dram = 0;
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

std::optional<ConvCandidate> plain_gemm(const ops::ConvShape& c, const ProductTimer& product) {
  const ops::GemmShape gemm = traffic::gemm_of(c);
  ConvCandidate out{.algorithm = ConvAlgorithm::ExplicitGemm,
                    .product = product(gemm, Operands::Cold)};
  if (!out.product) return std::nullopt;
  out.read = out.product->read;
  out.written = out.product->written;
  out.flops = 2.0 * real(gemm.m) * real(gemm.n) * real(gemm.k) * real(gemm.batch);
  return out;
}

/// im2col reads the image and writes the m x k matrix before the product begins; nothing where that
/// takes `limit` seconds already.
std::optional<ConvCandidate> explicit_gemm(const ops::ConvShape& c, DType dtype,
                                           const TimeMachine& g, const ProductTimer& product,
                                           double limit) {
  const ops::GemmShape gemm = traffic::gemm_of(c);
  const double element = element_of(dtype);
  const double matrix = real(gemm.m) * real(gemm.k) * real(gemm.batch) * element;
  const double image = real(c.n * c.c * c.h * c.w) * element;
  if ((image + matrix) / g.dram_bandwidth.base() >= limit) return std::nullopt;
  auto found = plain_gemm(c, product);
  if (!found) return std::nullopt;
  ConvCandidate& out = *found;
  surround(*out.product, g, {.dram = image + matrix, .launch = g.launch.base()});
  out.read.l1 += image, out.read.l2 += image, out.read.dram += image;
  out.written += matrix;
  return found;
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
  return cut_implicit({conv, dtype, g, {cut.tile_m, cut.tile_n}}, g, cut.split, kAnyTime);
}

StreamTime implicit_time(const ops::ConvShape& conv, DType dtype, const TimeMachine& g,
                         const ImplicitCut& cut, const ReadBytes& read) {
  const ImplicitLayer layer(conv, dtype, g, {cut.tile_m, cut.tile_n});
  StreamTime time = time_implicit(layer, g, cut.split, tuning_of(layer, g), read);
  lengthen(conv, g, read, time);
  return time;
}

namespace {

/// Those that search tiles and parts of the machine. `limit` gives the seconds that are worth a
/// search when one of them begins.
template <typename Limit, typename Take>
void searched_candidates(const ops::ConvShape& c, DType dtype, const TimeMachine& g,
                         const Limit& limit, const Take& take) {
  take(implicit_gemm(c, dtype, g, limit()));
  if (c.pass == ops::ConvPass::Forward) take(small_tile(c, dtype, g, limit()));
}

/// With im2col only on vector lanes: libraries feed matrix units with implicit GEMMs alone.
std::optional<ConvCandidate> explicit_candidate(const ops::ConvShape& c, DType dtype,
                                                const TimeMachine& g, const ProductTimer& product,
                                                double limit) {
  if (!product || c.pass == ops::ConvPass::FilterGradient) return std::nullopt;
  if (takes_plain_gemm(c, g)) return plain_gemm(c, product);
  if (c.pass != ops::ConvPass::Forward || g.tensor) return std::nullopt;
  return explicit_gemm(c, dtype, g, product, limit);
}

/// Those that launch products.
template <typename Limit, typename Take>
void product_candidates(const ops::ConvShape& c, DType dtype, const TimeMachine& g,
                        const ProductTimer& product, const Limit& limit, const Take& take) {
  if (const auto found = explicit_candidate(c, dtype, g, product, limit())) take(*found);
  if (const auto found = winograd_by_products(c, dtype, g, product, limit())) take(*found);
}

}  // namespace

std::vector<ConvCandidate> conv_candidates(const ops::ConvShape& c, DType dtype,
                                           const TimeMachine& g, const ConvTimeOptions& options) {
  if (options.implicit_gemm_only) return {implicit_gemm(c, dtype, g, kAnyTime)};
  std::vector<ConvCandidate> out = simple_candidates(c, dtype, g);
  const auto any = [] { return kAnyTime; };
  const auto take = [&out](const ConvCandidate& candidate) { out.push_back(candidate); };
  product_candidates(c, dtype, g, options.product, any, take);
  searched_candidates(c, dtype, g, any, take);
  std::stable_sort(out.begin(), out.end(), [](const ConvCandidate& a, const ConvCandidate& b) {
    return a.seconds() < b.seconds();
  });
  return out;
}

ConvCandidate fastest_conv(const ops::ConvShape& c, DType dtype, const TimeMachine& g,
                           const ConvTimeOptions& options) {
  ConvCandidate best;
  double least = kAnyTime;
  const auto take = [&](const ConvCandidate& candidate) {
    const double seconds = candidate.seconds();
    if (seconds >= least) return;
    least = seconds;
    best = candidate;
  };
  for (const ConvCandidate& candidate : simple_candidates(c, dtype, g)) take(candidate);
  product_candidates(c, dtype, g, options.product, [&least] { return least; }, take);
  searched_candidates(c, dtype, g, [&least] { return least; }, take);
  return best;
}

}  // namespace rooftile::cost
