// SPDX-License-Identifier: Apache-2.0
//
// `rooftile evaluate labels`: predicted steps beside measured ones, with the published predictions
// of other methods where the file has them.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/error_statistics.h"
#include "rooftile/provenance.h"

namespace rooftile::report {

struct LabelCase {
  std::string device;  ///< as in the file
  std::string name;    ///< "gpt2_large-train-1024-4", the option behind it
  std::string model, mode, option;
  double measured_ms = 0, predicted_ms = 0, low_ms = 0, high_ms = 0, bound_ms = 0;
  std::optional<double> trivial_ms, neusight_ms;  ///< fitted baselines, beside ours
  /// "neusight", "roofline", ... where the file has it
  std::map<std::string, double> published_ms;

  [[nodiscard]] double error() const { return predicted_ms / measured_ms - 1; }
};

/// One group of rows: all, a device, a model, a mode.
struct LabelSummary : ErrorStatistics {
  std::string group;
  double baseline_error = 0;  ///< of the bound
  std::optional<double> trivial_error, neusight_error;
  std::map<std::string, double> published_error;  ///< on the rows of the group that have it
  std::map<std::string, std::int64_t> published_cases;
};

/// What fusing vector operators gains: the plain step over the fused one of the same case.
struct FusionGain {
  std::string device, name;  ///< of the plain row
  double measured = 1, predicted = 1;
};

struct LabelEvaluation {
  std::string predictor;
  bool left_out = false;  ///< each GPU by weights that have seen nothing measured on it
  std::vector<LabelCase> cases;
  std::vector<LabelSummary> summary;
  std::vector<FusionGain> fusion;               ///< where the file has both rows
  std::map<std::string, std::int64_t> skipped;  ///< option -> rows that are not modelled
  std::vector<std::string> unread_columns;      ///< of the file, with no known meaning
  std::vector<std::string> warnings;            ///< about times, models and GPUs: "times: ..."
  ProvenanceReport provenance{};
};

std::string labels_to_text(const LabelEvaluation& evaluation, int width);
/// The contract's keys; errors are fractions of the measured time.
std::string labels_to_json(const LabelEvaluation& evaluation);
/// One line per measured step.
std::string labels_to_csv(const LabelEvaluation& evaluation);
/// A page for docs/.
std::string labels_to_markdown(const LabelEvaluation& evaluation);

}  // namespace rooftile::report
