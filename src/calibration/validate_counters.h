// SPDX-License-Identifier: Apache-2.0
//
// The bytes of predicted kernels against hardware counters: L2 and DRAM of products (columns
// module, m, n, k) and of convolutions (n, c, h, w, k, r, s, pass). Of convolutions the forward
// passes are compared: what the files call backward is another set of kernels in each framework.
#pragma once

#include "calibration/validation.h"
#include "core/catalog.h"
#include "core/csv.h"
#include "core/result.h"

namespace rooftile::calibration {

/// `csv` is behind its header.
Result<ValidationTable> validate_counters(CsvReader& csv, const CsvHeader& header,
                                          const Catalog& catalog);

}  // namespace rooftile::calibration
