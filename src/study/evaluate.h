// SPDX-License-Identifier: Apache-2.0
//
// What the four evaluations of a Session give: the measured rows with their predictions, and the
// block of errors (rooftile/evaluate.h) over groups of them.
#pragma once

#include <string>
#include <vector>

#include "calibration/dataset.h"
#include "calibration/evaluate.h"
#include "calibration/labels.h"
#include "calibration/tile_report.h"
#include "calibration/validation.h"
#include "rooftile/evaluate.h"
#include "rooftile/provenance.h"

namespace rooftile::study {

struct KernelEvaluation {
  calibration::Dataset dataset;  ///< that the cases point into
  calibration::Evaluation evaluation;
};

struct TileEvaluation {
  std::vector<calibration::TileAgreement> groups;
  std::vector<std::string> warnings;
  ProvenanceReport provenance{};
};

/// `rows` random rows of each GPU, class and campaign calibrate a predictor that has not seen the
/// GPU, `draws` times; or one step of each machine calibrates the default predictor.
struct CalibrateEvaluationRequest {
  std::vector<std::string> files;
  std::int64_t rows = 30, draws = 10;
  std::uint64_t seed = 1;
  unsigned threads = 2;
};
struct CalibrateEvaluation {
  std::int64_t rows = 0, draws = 0;
  std::vector<ErrorSummary> summary = {};  ///< baseline "uncalibrated": the same rows before
  std::vector<std::string> warnings = {};
  std::vector<Input> inputs = {};
  ProvenanceReport provenance{};
};

/// The library's report of an evaluation of any subject.
EvaluateReport report_of(const calibration::Evaluation& evaluation,
                         const calibration::Dataset& dataset);
EvaluateReport report_of(const calibration::LabelEvaluation& evaluation);
EvaluateReport report_of(const calibration::ValidationTable& table);
EvaluateReport report_of(const TileEvaluation& tiles);

}  // namespace rooftile::study
