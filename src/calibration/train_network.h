// SPDX-License-Identifier: Apache-2.0
//
// Trains the network of cost/neusight/network.h: AdamW with a cosine schedule on the symmetric
// relative error of the time per wave, 2 |p - t| / (p + t). Single precision, one thread,
// deterministic for a seed; the last epoch's network is the result.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "cost/neusight/network.h"

namespace rooftile::calibration {

struct TrainingRow {
  std::array<double, cost::neusight::kFeatures> inputs{};  ///< normalized
  double waves = 1;
  double ratio = 1;  ///< measured time / time at the roofline: what 1 / utilization should be
};

struct TrainOptions {
  std::vector<std::size_t> hidden{32, 32, 32};
  int epochs = 60;
  std::size_t batch = 64;
  double rate = 3e-3;          ///< at the start; falls to zero along a cosine
  double weight_decay = 1e-2;  ///< decoupled
  double least_utilization = 1e-4;
  std::uint64_t seed = 1;  ///< of initial weights and of the order of rows
};

/// Of the network with these hidden layers.
std::vector<std::size_t> widths_of(const TrainOptions& options);

struct TrainedNetwork {
  cost::neusight::Network network;  ///< values rounded to five digits: files stay small
  double loss = 0;                  ///< mean over the last epoch
};

TrainedNetwork train(std::span<const TrainingRow> rows, const TrainOptions& options);

}  // namespace rooftile::calibration
