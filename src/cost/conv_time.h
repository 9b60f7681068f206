// SPDX-License-Identifier: Apache-2.0
//
// Time of a convolution per algorithm, and which algorithm a library in benchmark mode would take
// (the fastest). DeLTA speaks of the implicit GEMM alone; 61-81 % of the FP32 3x3 convolutions in
// NeuSight's campaign ran Winograd, so the others are modelled as well:
//
//   implicit_gemm        128x{128,64,32} tiles, all passes; wgrad with split-K (stream_time.h)
//   implicit_small_tile  32x32 tiles for small layers, bound by shared memory
//   winograd_fused       F(2x2,3x3) in one kernel: 32 filters x 32 tiles per CTA, 16 MAC per 2x2
//                        outputs instead of 36
//   winograd_nonfused    F(4x4,3x3): transforms around a batch of 36 products, the batch of images
//                        padded to 16
//   fft                  32x32 tiles, 544 complex products per tile
//   explicit_gemm        im2col written to memory, then a product of the GEMM library; 1x1 layers
//                        with stride 1 and a small grid are that product alone, forward and dgrad
//   direct               dgrad with few channels
//   depthwise            one thread per output, where every filter has one input channel; counted
//                        in instructions, not fitted: no measured rows have groups
//
// Winograd and FFT: FP32, 3x3, stride 1, no dilation, one group. The measured libraries take FFT
// neither for filter gradients nor for 5x5 layers, and ship explicit GEMMs for forward passes only.
// A product within a convolution takes the predictor's own time for such a product (ProductTimer).
// Constants are fitted on DeepBench
// (cuDNN 5 to 7) and NeuSight (cuDNN 8); FFT and small tiles are rough (about 80 and 330 rows).
#pragma once

#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "cost/stream_time.h"

namespace rooftile::cost {

enum class ConvAlgorithm : std::uint8_t {
  ImplicitGemm,
  ImplicitSmallTile,
  WinogradFused,
  WinogradNonfused,
  Fft,
  ExplicitGemm,
  Direct,
  Depthwise
};
std::string_view name_of(ConvAlgorithm algorithm);
Result<ConvAlgorithm> parse_conv_algorithm(std::string_view text);

/// A product of the GEMM library.
struct LibraryProduct {
  Breakdown breakdown;
  double seconds = 0;  ///< that the breakdown gives, without the gap behind it
  mapping::TilePlan plan;
  traffic::ReadBytes read = {};
  double written = 0;  ///< bytes
};
/// What a product finds in the L2 when it begins: nothing, or what fits of its operands, which the
/// kernel before it wrote.
enum class Operands : std::uint8_t { Cold, JustWritten };
/// Times one: a predictor has one time for a product, whoever launches it. Nothing where it has none.
using ProductTimer =
    std::function<std::optional<LibraryProduct>(const ops::GemmShape& gemm, Operands operands)>;

struct ConvTimeOptions {
  bool implicit_gemm_only = false;
  ProductTimer product = {};  ///< empty: without the algorithms that launch products
};

struct ConvCandidate {
  ConvAlgorithm algorithm = ConvAlgorithm::ImplicitGemm;
  StreamTime time = {};                        ///< of those without a product
  std::optional<LibraryProduct> product = {};  ///< with the kernels around it in its breakdown
  double flops = 0;                            ///< that the algorithm executes
  traffic::ReadBytes read = {};                ///< bytes
  double written = 0;                          ///< bytes, partial results included
  /// Without the launch.
  [[nodiscard]] double seconds() const { return product ? product->seconds : time.total(); }
  [[nodiscard]] Breakdown breakdown() const {
    return product ? product->breakdown : time.breakdown();
  }
};

/// Fastest first; never empty. The first of the implicit GEMMs has the tile that is fastest.
std::vector<ConvCandidate> conv_candidates(const ops::ConvShape& conv, DType dtype,
                                           const TimeMachine& machine,
                                           const ConvTimeOptions& options);

/// The first of them, without searching what cannot be faster.
ConvCandidate fastest_conv(const ops::ConvShape& conv, DType dtype, const TimeMachine& machine,
                           const ConvTimeOptions& options);

/// The narrowest tile along n of a layer's implicit GEMM: strided data gradients have none
/// below 64.
double narrowest_tile(const ops::ConvShape& conv);

/// The implicit GEMM with a given tile (m x n) and number of parts of k.
struct ImplicitCut {
  double tile_m = 128, tile_n = 128, split = 1;
};
ConvCandidate implicit_candidate(const ops::ConvShape& conv, DType dtype,
                                 const TimeMachine& machine, const ImplicitCut& cut);

/// Its time with bytes that were counted instead of the closed forms'; `read` is of the operands,
/// without the partial sums of split-K.
StreamTime implicit_time(const ops::ConvShape& conv, DType dtype, const TimeMachine& machine,
                         const ImplicitCut& cut, const traffic::ReadBytes& read);

}  // namespace rooftile::cost
