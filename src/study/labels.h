// SPDX-License-Identifier: Apache-2.0
//
// Predicted steps against measured ones: the layout of NeuSight's label files (device, model_name,
// mode, seqlen, batch, option, measured_ms, and columns of published predictions). Models are
// Hugging Face configs, <models folder>/<model_name>.json. Rows whose option is not modelled are
// counted and named, never dropped in silence. What is wrong with a row is wrong with the file:
// every such error is one of input and names its line.
#pragma once

#include <functional>
#include <string>

#include "core/result.h"
#include "cost/predictor.h"
#include "report/label_view.h"
#include "study/session.h"

namespace rooftile::study {

/// The predictor that is evaluated and the fitted baselines beside it, which may be null.
struct LabelPredictors {
  const cost::Predictor* main = nullptr;
  const cost::Predictor* trivial = nullptr;
  const cost::Predictor* neusight = nullptr;
};
/// Those for a GPU of the file; leave-one-GPU-out gives others to each.
using PredictorsOf = std::function<LabelPredictors(const hardware::GpuSpec& gpu)>;

Result<report::LabelEvaluation> evaluate_labels(const std::string& file, const std::string& models,
                                                const Session& session,
                                                const PredictorsOf& predictors_of);

}  // namespace rooftile::study
