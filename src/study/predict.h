// SPDX-License-Identifier: Apache-2.0
//
// The launches of a step, each with its estimate: what predict, traffic and roofline share.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "aggregate/scaling.h"
#include "core/result.h"
#include "cost/predictor.h"
#include "rooftile/report.h"
#include "study/session.h"

namespace rooftile::study {

/// The kernels of the step on one GPU in the order of execution, or the one of `conv`, each with
/// its estimate per launch; kernels of a block that repeats have a count. request.gpu and
/// request.machine are not looked at.
struct EstimatedKernels {
  std::vector<aggregate::OperatorEstimate> operators;
  aggregate::LaunchCosts costs;
  std::vector<std::string> notes;  ///< on the model
  Input model;
};
Result<EstimatedKernels> estimate_kernels(const Request& request,
                                          const std::optional<ops::ConvShape>& conv,
                                          const hardware::Machine& machine, const Session& session,
                                          const cost::Predictor& predictor);

}  // namespace rooftile::study
