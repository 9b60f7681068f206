// SPDX-License-Identifier: Apache-2.0
//
// Predicted steps against measured ones: the layout of NeuSight's label files (device, model_name,
// mode, seqlen, batch, option, measured_ms, and columns of published predictions). Models are
// Hugging Face configs, <models folder>/<model_name>.json. Rows whose option is not modelled are
// counted and named, never dropped in silence.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/catalog.h"
#include "core/progress.h"
#include "core/result.h"
#include "latency/predictor.h"

namespace rooftile::app {

struct LabelCase {
  std::string device;  ///< as in the file
  std::string name;    ///< "gpt2_large-train-1024-4", the option behind it
  std::string model, mode, option;
  double measured_ms = 0, predicted_ms = 0, low_ms = 0, high_ms = 0, bound_ms = 0;
  std::map<std::string, double>
      published_ms;  ///< "neusight", "roofline", ... where the file has it

  [[nodiscard]] double error() const { return predicted_ms / measured_ms - 1; }
};

/// One group of rows: all, a device, a model, a mode.
struct LabelSummary {
  std::string group;
  std::int64_t cases = 0;
  double mean_error = 0, p90_error = 0, worst_error = 0, bias = 0, coverage = 0;
  double baseline_error = 0;                      ///< of the bound
  std::map<std::string, double> published_error;  ///< on the rows of the group that have it
  std::map<std::string, std::int64_t> published_cases;
};

struct LabelEvaluation {
  std::string predictor;
  std::vector<LabelCase> cases;
  std::vector<LabelSummary> summary;
  std::map<std::string, std::int64_t> skipped;  ///< option -> rows that are not modelled
};

/// The predictor for a device of the file; leave-one-GPU-out gives another one to each.
using PredictorOf = std::function<Result<const latency::Predictor*>(const std::string& device)>;

Result<LabelEvaluation> evaluate_labels(const std::string& file, const std::string& models,
                                        const Catalog& catalog, const PredictorOf& predictor_of,
                                        const Progress& progress);

}  // namespace rooftile::app
