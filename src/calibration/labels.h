// SPDX-License-Identifier: Apache-2.0
//
// Predicted steps against measured ones, as the reader table gives them (dataset.h). Models are
// Hugging Face configs, <models folder>/<model_name>.json. Rows whose option is not modelled are
// counted and named, never dropped in silence. What is wrong with a row is wrong with the file:
// every such error is one of input and names its line.
//
// These steps were measured with an emptied allocator before each of them, so that the forward pass
// allocates all of its activations from the driver. That is not part of a step, nor of any other
// command: here it is added, at one rate per byte that is fitted to the rows of the other GPUs.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/catalog.h"
#include "core/result.h"
#include "cost/predictor.h"
#include "rooftile/evaluate.h"
#include "rooftile/progress.h"
#include "rooftile/report.h"
#include "rooftile/request.h"

namespace rooftile::calibration {

struct LabelCase {
  std::string device;  ///< as in the file
  std::string name;    ///< "gpt2_large-train-1024-4", the option behind it
  std::string model, mode, option;
  double measured_ms = 0, predicted_ms = 0, low_ms = 0, high_ms = 0, bound_ms = 0;
  std::optional<double> trivial_ms, neusight_ms;  ///< fitted baselines, next to ours
  double allocated_bytes = 0;                     ///< activations that the step allocates
  double protocol_ms = 0;  ///< of predicted_ms: what the measurement adds to the step
  /// "neusight", "roofline", ... where the file has it
  std::map<std::string, double> published_ms;

  [[nodiscard]] double error() const { return predicted_ms / measured_ms - 1; }
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
  std::vector<ErrorSummary> summary;            ///< all, an option, a device, a model, a mode
  std::vector<FusionGain> fusion;               ///< where the file has both rows
  std::map<std::string, std::int64_t> skipped;  ///< option -> rows that are not modelled
  std::vector<std::string> unread_columns;      ///< of the file, with no known meaning
  std::vector<std::string> warnings;            ///< about times, models and GPUs: "times: ..."
  ProvenanceReport provenance{};
};

/// The predictor that is evaluated and the fitted baselines next to it, which may be null.
struct LabelPredictors {
  const cost::Predictor* main = nullptr;
  const cost::Predictor* trivial = nullptr;
  const cost::Predictor* neusight = nullptr;
};
/// Those for a GPU of the file; leave-one-GPU-out gives others to each.
using PredictorsOf = std::function<LabelPredictors(const hardware::GpuSpec& gpu)>;

/// A step by a predictor: study::Session::predict.
using PredictStep = std::function<Result<Report>(const Request&, const cost::Predictor&)>;

Result<LabelEvaluation> evaluate_labels(const std::string& file, const std::string& models,
                                        const Catalog& catalog, const PredictorsOf& predictors_of,
                                        const PredictStep& predict, const Progress& progress);

}  // namespace rooftile::calibration
