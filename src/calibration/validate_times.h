// SPDX-License-Identifier: Apache-2.0
//
// The time model against measured convolutions, as a table (conv_fit.h).
#pragma once

#include <string>
#include <vector>

#include "calibration/validation.h"
#include "core/catalog.h"
#include "core/csv.h"
#include "core/progress.h"
#include "core/result.h"

namespace rooftile::calibration {

struct TimesRequest {
  /// Fit the constants of the time model anew without each GPU, and score it with those: about a
  /// minute.
  bool leave_one_gpu_out = false;
  std::vector<std::string> fit_with = {};  ///< more files to fit on, the GPU left out of them too
};

/// `csv` is the file that is scored, DeepBench's or NeuSight's conv.csv, behind its header.
Result<ValidationTable> validate_times(CsvReader& csv, const CsvHeader& header,
                                       const TimesRequest& request, const Catalog& catalog,
                                       const Progress& progress);

}  // namespace rooftile::calibration
