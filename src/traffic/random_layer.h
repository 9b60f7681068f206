// SPDX-License-Identifier: Apache-2.0
//
// Random convolutions and caches with which the models are compared against the simulator: all
// passes, strides 1 to 3, dilation 1 to 6, rectangular images and filters, 1 to 32 groups,
// depthwise, 16- and 32-bit types, split-K up to 32, three orders of CTAs, 2 to 64 SMs, L1 of 24 to
// 128 KB, L2 of 48 to 370 KB per SM (real GPUs: 58 and more). A quarter of the layers are large
// images of few channels. The same seed gives the same layers.
#pragma once

#include <random>

#include "traffic/cache_sim.h"

namespace rooftile::traffic {

struct RandomLayer {
  ops::ConvShape conv;
  DType dtype = DType::Fp32;
  CutOptions cut;
  CacheMachine machine;
  [[nodiscard]] ImplicitGemm problem() const { return make_conv_problem(conv, dtype, cut); }
};

enum class LayerSize : std::uint8_t {
  Small,  ///< simulated in a millisecond or so
  Large   ///< up to 12 images of 46 x 46 and 320 filters, or 2 of 200 x 430: a tenth of a second
};

class RandomLayers {
 public:
  RandomLayers(std::uint32_t seed, LayerSize size) : engine_(seed), size_(size) {}
  RandomLayer next();

 private:
  /// Uniform in [low, high]; the same on every standard library.
  std::int64_t uniform(std::int64_t low, std::int64_t high);
  ops::ConvShape next_shape();
  void group(ops::ConvShape& conv, std::int64_t most_channels);
  void enlarge(ops::ConvShape& conv);
  std::mt19937 engine_;
  LayerSize size_;
};

}  // namespace rooftile::traffic
