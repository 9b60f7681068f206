// SPDX-License-Identifier: Apache-2.0
//
// The bytes of predicted kernels against hardware counters: L2 and DRAM of products and of forward
// convolutions (Dataset::counted), next to the compulsory bytes.
#pragma once

#include "calibration/dataset.h"
#include "calibration/validation.h"
#include "cost/predictor.h"

namespace rooftile::calibration {

ValidationTable validate_counters(const Dataset& dataset, const cost::Predictor& predictor);

}  // namespace rooftile::calibration
