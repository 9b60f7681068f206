// SPDX-License-Identifier: Apache-2.0
#include "cost/neusight/network.h"

#include <algorithm>

namespace rooftile::cost::neusight {

std::size_t value_count(std::span<const std::size_t> widths) {
  std::size_t count = 0;
  for (std::size_t i = 1; i < widths.size(); ++i) count += (widths[i - 1] + 1) * widths[i];
  return count;
}

bool valid_widths(std::span<const std::size_t> widths) {
  if (widths.size() < 2 || widths.size() > kMaxLayers + 1) return false;
  if (widths.front() != kFeatures || widths.back() != kOutputs) return false;
  return std::all_of(widths.begin(), widths.end(),
                     [](std::size_t width) { return width >= 1 && width <= kMaxWidth; });
}

std::array<double, kOutputs> evaluate(const Network& network,
                                      const std::array<double, kFeatures>& inputs) {
  std::array<float, kMaxWidth> from{};
  std::array<float, kMaxWidth> to{};
  for (std::size_t i = 0; i < kFeatures; ++i) from[i] = static_cast<float>(inputs[i]);
  const float* value = network.values.data();
  for (std::size_t layer = 1; layer < network.widths.size(); ++layer) {
    const std::size_t in = network.widths[layer - 1];
    const std::size_t out = network.widths[layer];
    std::copy_n(value + in * out, out, to.begin());
    for (std::size_t i = 0; i < in; ++i, value += out) {
      for (std::size_t o = 0; o < out; ++o) to[o] += from[i] * value[o];
    }
    value += out;
    if (layer + 1 < network.widths.size()) {
      for (std::size_t o = 0; o < out; ++o) to[o] = std::max(to[o], 0.0F);
    }
    std::swap(from, to);
  }
  return {from[0], from[1]};
}

}  // namespace rooftile::cost::neusight
