// SPDX-License-Identifier: Apache-2.0
//
// Fits a predictor to a data set, and once more without each GPU. The folds and classes are
// independent tasks for a pool of threads; the result does not depend on their number. Finished
// tasks are kept in a checkpoint, so a fit that was killed continues and ends with the same bytes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "calibration/dataset.h"
#include "core/catalog.h"
#include "core/result.h"
#include "cost/learned/weights.h"
#include "rooftile/progress.h"

namespace rooftile::calibration {

struct FitOptions {
  std::string name = "rooftile";  ///< of the predictor
  std::uint64_t seed = 1;         ///< of the choice of rows
  unsigned threads = 2;
  bool all_gpus = true;                        ///< fit on everything
  bool leave_one_out = true;                   ///< fit without each GPU in turn
  std::string command = {};                    ///< for the origins of the constants
  std::optional<std::string> checkpoint = {};  ///< file that keeps finished tasks
  Progress progress = {};                      ///< may be empty
};

struct Fits {
  std::optional<cost::learned::Weights> all;
  std::vector<cost::learned::Weights> without;  ///< by index of the GPU in the data set
  std::vector<Input> inputs;  ///< GPUs: what the catalogue publishes of all of them goes in
  /// Parts that the data say nothing about and that are the catalogue's: such a part of a fit that
  /// left a GPU out may have seen it.
  std::vector<std::string> notes;
};

Result<Fits> fit(const Dataset& dataset, const Catalog& catalog, const FitOptions& options);

}  // namespace rooftile::calibration
