// SPDX-License-Identifier: Apache-2.0
//
// The time model against measured convolutions. Errors are exp(mean |ln(predicted / measured)|)
// - 1.
#pragma once

#include "core/catalog.h"
#include "core/csv.h"
#include "core/result.h"
#include "report/validation_view.h"

namespace rooftile::app {

/// FP32 rows. A forward row that exceeds 0.97 of the FP32 peak at boost cannot have run the
/// implicit GEMM it names and is left out of that column. 15 us are added per call: the host's
/// share of the campaign.
Result<report::ValidationTable> validate_deepbench(CsvReader& csv, const CsvHeader& header,
                                                   const Catalog& catalog);

/// Two readings of a campaign in which every row carries host time that grows with the row number:
/// a constant of 280 us, and the drift removed (the median of measured - predicted per 250 rows).
Result<report::ValidationTable> validate_neusight(CsvReader& csv, const CsvHeader& header,
                                                  const Catalog& catalog);

}  // namespace rooftile::app
