// SPDX-License-Identifier: Apache-2.0
//
// What a validation of bytes or of the time model of convolutions ends in: every compared row with
// the block of errors, and the table that people read.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "calibration/validation_cell.h"
#include "core/error_statistics.h"
#include "rooftile/evaluate.h"
#include "rooftile/provenance.h"

namespace rooftile::calibration {

struct ValidationTable {
  std::string title;
  std::vector<std::string> columns;
  std::vector<std::vector<ValidationCell>> rows;
  std::vector<std::string> notes;
  ProvenanceReport provenance{};
  std::string predictor = {};              ///< whose bytes or times these are
  bool left_out = false;                   ///< constants fitted without each GPU
  std::vector<EvaluatedBytes> bytes = {};  ///< of bytes
  std::vector<ErrorSummary> summary = {};  ///< "predicted/l2", "exact/dram/forward"
  std::int64_t skipped = 0;                ///< rows that are not compared
};

/// Collects compared bytes, by model and level and by model, level and group.
class ComparedBytes {
 public:
  /// `row` without its error. `compulsory` is the baseline beside: every operand once; not positive
  /// where it is not known.
  void add(EvaluatedBytes row, double compulsory);
  void finish(ValidationTable& table) &&;

 private:
  std::vector<EvaluatedBytes> rows_;
  ErrorGroups groups_;
};

}  // namespace rooftile::calibration
