// SPDX-License-Identifier: Apache-2.0
//
// The time model against measured convolutions. Errors are exp(mean |ln(predicted / measured)|)
// - 1.
#pragma once

#include <string>
#include <vector>

#include "core/catalog.h"
#include "core/csv.h"
#include "core/progress.h"
#include "core/result.h"
#include "report/validation_view.h"

namespace rooftile::study {

struct TimesRequest {
  /// Fit the constants of the time model anew without each GPU, and score it with those: about a
  /// minute.
  bool leave_one_gpu_out = false;
  std::vector<std::string> fit_with = {};  ///< more files to fit on, the GPU left out of them too
};

/// DeepBench: FP32 rows. A forward row that exceeds 0.97 of the FP32 peak at boost cannot have run
/// the implicit GEMM it names and is left out of that column; a filter gradient that does ran
/// Winograd. 15 us are added per call: the host's share of the campaign.
///
/// NeuSight: three readings of a campaign in which every row carries host time that grows with the
/// row number: a constant of 280 us, and the drift removed (the median of measured - predicted per
/// 250 rows) as the GPU itself or as the others show it.
///
/// `csv` is the file that is scored, DeepBench's or NeuSight's conv.csv, behind its header.
Result<report::ValidationTable> validate_times(CsvReader& csv, const CsvHeader& header,
                                               const TimesRequest& request, const Catalog& catalog,
                                               const Progress& progress);

}  // namespace rooftile::study
