// SPDX-License-Identifier: Apache-2.0
//
// The whole pipeline on one page: model and machine in, report out.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "aggregate/step.h"
#include "core/catalog.h"
#include "core/result.h"
#include "cost/predictor.h"
#include "rooftile/report.h"

namespace rooftile::study {

Result<Report> predict(const Request& request, const Catalog& catalog);

/// The same with a predictor at hand (one fitted without a GPU, say); request.predictor is not
/// looked at.
Result<Report> predict_with(const Request& request, const Catalog& catalog,
                            const cost::Predictor& predictor);

/// The kernels of the step on one GPU in the order of execution, or the one of `conv`, each with
/// its estimate per launch; kernels of a block that repeats have a count. request.gpu and
/// request.machine are not looked at.
struct EstimatedKernels {
  std::vector<aggregate::OperatorEstimate> operators;
  std::vector<std::string> notes;  ///< on the model
  Input model;
};
Result<EstimatedKernels> estimate_kernels(const Request& request,
                                          const std::optional<ops::ConvShape>& conv,
                                          const hardware::Machine& machine, const Catalog& catalog,
                                          const cost::Predictor& predictor);

/// The same step on each of `gpus`; request.gpu is not looked at.
Result<std::vector<Report>> compare(const Request& request, std::span<const std::string> gpus,
                                    const Catalog& catalog);

}  // namespace rooftile::study
