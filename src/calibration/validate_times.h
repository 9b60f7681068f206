// SPDX-License-Identifier: Apache-2.0
//
// The time model against measured convolutions, as a table (conv_fit.h).
#pragma once

#include <string>
#include <vector>

#include "calibration/dataset.h"
#include "calibration/validation.h"
#include "core/catalog.h"
#include "core/result.h"
#include "rooftile/progress.h"

namespace rooftile::calibration {

struct TimesRequest {
  /// Fit the constants of the time model anew without each GPU, and score it with those: about a
  /// minute.
  bool leave_one_gpu_out = false;
  std::vector<std::string> fit_with = {};  ///< more files to fit on, the GPU left out of them too
};

/// `scored` holds the file that is scored, DeepBench's or NeuSight's conv.csv.
Result<ValidationTable> validate_times(Dataset scored, const TimesRequest& request,
                                       const Catalog& catalog, const Progress& progress);

}  // namespace rooftile::calibration
