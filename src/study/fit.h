// SPDX-License-Identifier: Apache-2.0
//
// What a fit gives: the two files of a predictor and its errors on GPUs that were left out.
#pragma once

#include <string>
#include <vector>

#include "calibration/dataset.h"
#include "calibration/evaluate.h"
#include "calibration/inspect.h"
#include "rooftile/fit.h"

namespace rooftile::study {

struct FitResult {
  std::string weights, card;  ///< JSON texts
  calibration::Dataset dataset;
  calibration::Evaluation left_out;  ///< without cases where there is a single GPU
  bool leaves_out = true;            ///< there is more than one GPU
  std::vector<std::string> warnings;
};

struct InspectResult {
  calibration::Inspection inspection;
  ProvenanceReport provenance{};
};

FitReport report_of(const FitResult& result);
InspectReport report_of(const InspectResult& result);

}  // namespace rooftile::study
