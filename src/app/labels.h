// SPDX-License-Identifier: Apache-2.0
//
// Predicted steps against measured ones: the layout of NeuSight's label files (device, model_name,
// mode, seqlen, batch, option, measured_ms, and columns of published predictions). Models are
// Hugging Face configs, <models folder>/<model_name>.json. Rows whose option is not modelled are
// counted and named, never dropped in silence.
#pragma once

#include <functional>
#include <string>

#include "core/catalog.h"
#include "core/result.h"
#include "latency/predictor.h"
#include "report/label_view.h"

namespace rooftile::app {

/// The predictor for a device of the file; leave-one-GPU-out gives another one to each.
using PredictorOf = std::function<Result<const latency::Predictor*>(const std::string& device)>;

Result<report::LabelEvaluation> evaluate_labels(const std::string& file, const std::string& models,
                                                const Catalog& catalog,
                                                const PredictorOf& predictor_of);

}  // namespace rooftile::app
