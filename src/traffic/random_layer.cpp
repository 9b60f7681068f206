// SPDX-License-Identifier: Apache-2.0
#include "traffic/random_layer.h"

#include <algorithm>
#include <array>

namespace rooftile::traffic {

std::int64_t RandomLayers::uniform(std::int64_t low, std::int64_t high) {
  const auto range = static_cast<std::uint64_t>(high - low + 1);
  return low + static_cast<std::int64_t>(engine_() * range >> 32U);
}

ops::ConvShape RandomLayers::next_shape() {
  constexpr std::array<std::int64_t, 7> kFilters{1, 1, 3, 3, 3, 5, 7};
  const bool small = size_ == LayerSize::Small;
  const auto filter = [&] { return kFilters[static_cast<std::size_t>(uniform(0, 6))]; };
  ops::ConvShape c;
  c.r = filter();
  c.s = uniform(0, 5) == 0 ? filter() : c.r;
  c.stride_h = c.stride_w = uniform(0, 3) == 0 ? 2 : 1;
  if (uniform(0, 9) == 0) c.stride_w = uniform(1, 3);
  c.dilation_h = c.dilation_w = uniform(0, 7) == 0 ? 2 : 1;
  const std::int64_t side = small ? 20 : 40;
  c.h = uniform(7, side) + (c.r - 1) * c.dilation_h;
  c.w = uniform(7, side) + (c.s - 1) * c.dilation_w;
  if (c.r == c.s && uniform(0, 2) != 0) c.w = c.h;
  c.pad_h = uniform(0, 2) != 0 ? c.r / 2 * c.dilation_h : 0;
  c.pad_w = uniform(0, 2) != 0 ? c.s / 2 * c.dilation_w : 0;
  c.n = uniform(1, small ? 5 : 12);
  c.c = uniform(1, 5) == 1 ? 3 : 8 * uniform(1, small ? 7 : 24);
  c.k = 16 * uniform(1, small ? 9 : 20);
  if (uniform(0, 6) == 0) group(c, small ? 64 : 256);
  if (uniform(0, 19) == 0) c.groups = c.c = c.k = 16 * uniform(1, small ? 3 : 6);
  if (uniform(0, 3) == 0) enlarge(c);
  return c;
}

// Few channels in many groups, or many in few: the tiles of a group are then partial ones.
void RandomLayers::group(ops::ConvShape& c, std::int64_t most_channels) {
  c.groups = uniform(0, 1) != 0 ? std::int64_t{1} << uniform(1, 5) : uniform(2, 32);
  c.c = c.groups * uniform(1, std::max<std::int64_t>(1, most_channels / c.groups));
  c.k = c.groups * uniform(1, std::max<std::int64_t>(1, most_channels * 2 / c.groups));
}

// Rows of hundreds of pixels and taps that are far apart: what one tap reads is needed again by the
// next one long after. Few channels keep the simulation short.
void RandomLayers::enlarge(ops::ConvShape& c) {
  const bool small = size_ == LayerSize::Small;
  c.dilation_h = c.dilation_w = uniform(0, 1) != 0 ? uniform(2, 6) : 1;
  c.h = uniform(28, small ? 72 : 160) + (c.r - 1) * c.dilation_h;
  c.w = uniform(28, small ? 160 : 400) + (c.s - 1) * c.dilation_w;
  c.pad_h = uniform(0, 2) != 0 ? c.r / 2 * c.dilation_h : 0;
  c.pad_w = uniform(0, 2) != 0 ? c.s / 2 * c.dilation_w : 0;
  c.groups = 1;
  c.n = uniform(1, 2);
  c.c = 4 * uniform(1, small ? 6 : 12);
  c.k = 16 * uniform(1, small ? 4 : 6);
  if (uniform(0, 3) == 0) group(c, small ? 24 : 64);
}

RandomLayer RandomLayers::next() {
  constexpr std::array kPasses{ops::ConvPass::Forward, ops::ConvPass::DataGradient,
                               ops::ConvPass::FilterGradient, ops::ConvPass::Forward};
  constexpr std::array<std::int64_t, 4> kL1{24, 48, 64, 128};       // KiB
  constexpr std::array<std::int64_t, 5> kL2{48, 64, 96, 128, 370};  // KiB per SM
  constexpr std::array<std::int64_t, 3> kSplits{16, 24, 32};
  constexpr std::int64_t kKiB = 1024;
  const auto pick = [&](const auto& list) {
    return list[static_cast<std::size_t>(uniform(0, std::ssize(list) - 1))];
  };
  RandomLayer layer;
  layer.conv = next_shape();
  layer.dtype = uniform(0, 4) == 0 ? DType::Fp16 : DType::Fp32;
  layer.conv.pass = pick(kPasses);
  layer.cut.tile = delta_tile(gemm_of(layer.conv).n);
  if (layer.conv.pass == ops::ConvPass::FilterGradient) {
    layer.cut.split_k = uniform(0, 2) == 0 ? pick(kSplits) : uniform(1, 8);
  }
  CacheMachine& machine = layer.machine;
  machine.sm_count = uniform(2, size_ == LayerSize::Small ? 6 : 16);
  if (uniform(0, 3) == 0) machine.sm_count *= 4;
  machine.active_ctas = layer.cut.tile.n == 128 ? 2 : layer.cut.tile.n == 64 ? 4 : 6;
  machine.l1_bytes = pick(kL1) * kKiB;
  machine.l2_bytes = machine.sm_count * pick(kL2) * kKiB;
  if (uniform(0, 3) == 0) {
    machine.order = uniform(0, 1) != 0 ? CtaOrder::Row : CtaOrder::Swizzled;
  }
  return layer;
}

}  // namespace rooftile::traffic
