// SPDX-License-Identifier: Apache-2.0
#include "cost/conv_simple.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

#include "core/integer.h"
#include "cost/stream_parts.h"

namespace rooftile::cost {

namespace {

constexpr double kFusedMacs = 16384;  // per channel and CTA: 16 x 32 filters x 32 tiles

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
  const double bandwidth = g.dram_bandwidth.base();
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

/// What the product finds in L2 of its operands was left there by the transforms before it, and what
/// of its results stays there is found by the one behind it: the same share of the bytes of both
/// sides passes through DRAM.
std::optional<ConvCandidate> winograd_nonfused(const TimeMachine& g, const Plane& p,
                                               bool filter_gradient, const ProductTimer& product,
                                               double limit) {
  // A filter gradient reads both activations and writes filters.
  const double read = p.source + (filter_gradient ? p.result() : p.filters());
  const double written = filter_gradient ? p.filters() : p.result();
  // A filter has a thread, which reaches into all 36 matrices: that rate is not the DRAM's.
  const double scattered = (p.filters() + 4 * 36 * p.in * p.out) / g.dram_bandwidth.base();
  const double latency = scattered * (1 / g.constants.nonfused_filters - 1);
  const double tensors = (p.source + p.result()) / g.dram_bandwidth.base();
  if (g.constants.nonfused_launch + tensors + latency >= limit) return std::nullopt;
  constexpr std::int64_t kProducts = 36;
  const double images = filter_gradient ? p.n : std::ceil(p.n / 16) * 16;
  const double tiles = images * std::ceil(p.h / 4) * std::ceil(p.w / 4);
  const auto whole = [](double size) { return static_cast<std::int64_t>(size); };
  ops::GemmShape gemm{.batch = kProducts, .m = whole(tiles), .n = whole(p.out), .k = whole(p.in)};
  if (filter_gradient) std::swap(gemm.m, gemm.k);
  ConvCandidate out{.algorithm = ConvAlgorithm::WinogradNonfused,
                    .product = product(gemm, Operands::JustWritten)};
  if (!out.product) return std::nullopt;
  const double count = real(kProducts);
  const double m = real(gemm.m), n = real(gemm.n), k = real(gemm.k);
  const double operands = 4 * count * (m * k + n * k);
  const double results = 4 * count * m * n;
  const double spilled =
      std::min(1.0, (out.product->read.dram + out.product->written) / (operands + results));
  surround(*out.product, g,
           {.dram = read + written + spilled * (operands + results),
            .l2 = read + written + operands + results,
            .latency = latency,
            .launch = g.constants.nonfused_launch});
  out.read = out.product->read;
  out.read.dram += read + spilled * results;
  out.read.l2 += read + results;
  out.read.l1 += read + results;
  out.written = out.product->written + written + spilled * operands;
  out.flops = 2 * count * m * n * k;
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
  const double memory = (out.read.dram + out.written) / g.dram_bandwidth.base();
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

ConvCandidate direct(const ops::ConvShape& c, DType dtype, const TimeMachine& g) {
  const double element = element_of(dtype);
  const double gradient = real(c.n * c.k * c.p() * c.q()) * element;
  ConvCandidate out{.algorithm = ConvAlgorithm::Direct};
  out.flops = 2 * real(c.n * c.p() * c.q()) * real(c.k) * real(c.c / c.groups) * real(c.r * c.s);
  const double read = gradient + real(c.k * (c.c / c.groups) * c.r * c.s) * element;
  out.read = {.l1 = read, .l2 = read, .dram = read};
  out.written = real(c.n * c.c * c.h * c.w) * result_element_of(dtype);
  const double peak = 2 * g.sms * g.lanes * g.clock.base();
  out.time.compute = out.flops / peak;
  out.time.sm = out.flops / (g.constants.direct_efficiency * peak) +
                (read + out.written) / g.dram_bandwidth.base();
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
  out.written = result_element_of(dtype) * (filter_gradient ? filters : threads);
  out.read.l2 = filter_gradient ? taps * out.read.dram : out.read.dram;
  out.read.l1 = std::max(out.read.l2, element * products * (filter_gradient ? 2 : 1));
  const double lanes = g.sms * g.vector_lanes * g.clock.base();
  out.time.compute = products / lanes;
  out.time.sm = (kTapInstructions * products + kThreadInstructions * threads) / lanes;
  out.time.dram = (out.read.dram + out.written) / g.dram_bandwidth.base();
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

void surround(LibraryProduct& product, const TimeMachine& g, const Surroundings& others) {
  Breakdown& terms = product.breakdown;
  const auto joined = [&terms] {
    return join_seconds(terms.on_chip().base(), terms.of(Resource::Dram).base(), terms.join);
  };
  const double alone = joined() * terms.residual;
  const double dram = others.dram / g.dram_bandwidth.base();
  const double l2 = g.l2_bandwidth ? others.l2 / g.l2_bandwidth->base() : 0.0;
  terms.of(Resource::Dram) += Seconds::from_base(dram);
  terms.of(Resource::L2) += Seconds::from_base(l2);
  terms.of(Resource::Latency) += Seconds::from_base(others.latency);
  terms.residual = (alone + std::max(dram, l2) + others.latency) / joined();
  terms.of(Resource::Launch) += Seconds::from_base(others.launch);
  product.seconds = terms.time().base();
}

std::vector<ConvCandidate> simple_candidates(const ops::ConvShape& c, DType dtype,
                                             const TimeMachine& g) {
  std::vector<ConvCandidate> out;
  const bool filter_gradient = c.pass == ops::ConvPass::FilterGradient;
  if (is_depthwise(c)) {
    out.push_back(depthwise(c, dtype, g));
  } else if (c.pass == ops::ConvPass::DataGradient) {
    out.push_back(direct(c, dtype, g));
  }
  if (winograd_applies(c, dtype, g) && !filter_gradient) {
    const Plane plane = plane_of(c);
    out.push_back(winograd_fused(g, plane));
    out.push_back(fft(g, plane));
  }
  return out;
}

std::optional<ConvCandidate> winograd_by_products(const ops::ConvShape& c, DType dtype,
                                                  const TimeMachine& g, const ProductTimer& product,
                                                  double limit) {
  const bool filter_gradient = c.pass == ops::ConvPass::FilterGradient;
  if (!product || !winograd_applies(c, dtype, g)) return std::nullopt;
  if (filter_gradient && !g.winograd_filter_gradient) return std::nullopt;
  return winograd_nonfused(g, plane_of(c), filter_gradient, product, limit);
}

}  // namespace rooftile::cost
