// SPDX-License-Identifier: Apache-2.0
//
// Fits the published NeuSight formulation (latency/neusight) to a data set: one network and one
// tile table per vendor and class, and once more without each GPU. Reads the rows that the default
// forms read: equally many per GPU and campaign, contradicted campaigns left out. The launched
// tile is used where the data name it, as in the publication.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "calibration/fit.h"
#include "calibration/selection.h"
#include "calibration/train_network.h"
#include "cost/neusight/neusight.h"

namespace rooftile::calibration {

struct NeuSightOptions {
  TrainOptions train;
  std::size_t rows = 1500;       ///< training rows per GPU and campaign
  std::size_t table_rows = 250;  ///< shapes in the tile table per GPU and campaign
};

struct NeuSightFits {
  std::optional<cost::neusight::Weights> all;
  std::vector<cost::neusight::Weights> without;  ///< by index of the GPU in the data set
};

Result<NeuSightFits> fit_neusight(const Dataset& dataset, const FitOptions& options,
                                  const NeuSightOptions& form);

/// How this fit differs from the publication, for the card.
std::vector<std::string> card_notes(const NeuSightOptions& form);

/// The launched tile: named by the kernel, or elements per CTA rounded up to a power of two.
std::optional<cost::neusight::TileSize> launched_tile(const Sample& sample);
/// Shapes and launched tiles of all samples that have one.
cost::neusight::TileTable tile_table(const Dataset& dataset, const Samples& samples);

}  // namespace rooftile::calibration
