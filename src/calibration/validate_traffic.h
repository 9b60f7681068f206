// SPDX-License-Identifier: Apache-2.0
//
// The traffic and time models against what is known: what a file is, the reader
// table says (layouts.h).
//
//   random                       random layers, models against the cache simulator
//   lru_reference.csv            17 layers x 3 caches, models against that table's simulation
//   counters gemm.csv, conv.csv  counted L2 and DRAM bytes, those of the predicted kernels
//   DeepBench conv.csv           measured forward, backward-data and backward-filter times
//   NeuSight conv.csv            measured 3x3 forward times with the kernels that ran
#pragma once

#include <string>
#include <vector>

#include "calibration/validation.h"
#include "core/catalog.h"
#include "core/result.h"
#include "rooftile/progress.h"

namespace rooftile::calibration {

struct ValidateRequest {
  std::string file;          ///< path, or "random"
  std::int64_t count = 300;  ///< random layers
  std::int64_t seed = 1;
  bool leave_one_gpu_out = false;          ///< measured times: constants fitted without each GPU
  std::vector<std::string> fit_with = {};  ///< measured times: more files to fit on
};

Result<ValidationTable> validate_traffic(const ValidateRequest& request, const Catalog& catalog,
                                         const Progress& progress);

}  // namespace rooftile::calibration
