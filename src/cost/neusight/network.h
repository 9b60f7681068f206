// SPDX-License-Identifier: Apache-2.0
//
// A small fully connected network with ReLU between its layers, as plain numbers: for each layer
// the weights, input by input, then the biases. Evaluation is single precision and allocates
// nothing; training is in calibration/train_network.h.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <vector>

namespace rooftile::cost::neusight {

inline constexpr std::size_t kFeatures = 4;  ///< inputs, listed in neusight.h
inline constexpr std::size_t kOutputs = 2;   ///< alpha, gamma
inline constexpr std::size_t kMaxWidth = 512, kMaxLayers = 16;

struct Network {
  std::vector<std::size_t> widths;  ///< kFeatures, hidden layers, kOutputs
  std::vector<float> values;
  bool operator==(const Network&) const = default;
};

/// Numbers that a network of these widths has. The widths must be valid.
std::size_t value_count(std::span<const std::size_t> widths);
/// Begins with kFeatures, ends with kOutputs, nothing above the limits.
bool valid_widths(std::span<const std::size_t> widths);

std::array<double, kOutputs> evaluate(const Network& network,
                                      const std::array<double, kFeatures>& inputs);

}  // namespace rooftile::cost::neusight
