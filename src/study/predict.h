// SPDX-License-Identifier: Apache-2.0
//
// The launches of a step, each with its estimate: what predict, traffic and roofline share; and a
// step that is ready for the costs of its software stack, which a fit asks many times.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "aggregate/scaling.h"
#include "core/result.h"
#include "cost/predictor.h"
#include "rooftile/report.h"
#include "study/network.h"
#include "study/options.h"
#include "study/session.h"

namespace rooftile::study {

/// Everything about a step that does not depend on what its stack costs.
struct PreparedStep {
  StepOptions options;
  Network network;
  graph::Graph model;
  aggregate::MemoryEstimate memory;
  Seconds gap;  ///< between kernels of an eager framework
  /// Kernels without the gaps between them; their step is not added up yet.
  std::vector<aggregate::StageEstimate> stages;

  /// `factor` is one on the time of every kernel.
  [[nodiscard]] aggregate::StepEstimate step(const hardware::Machine& machine,
                                             const cost::Predictor& predictor,
                                             const cost::StackCosts& costs, double factor) const;
};
Result<PreparedStep> prepare_step(const Request& request, const hardware::Machine& machine,
                                  const Session& session, const cost::Predictor& predictor);

/// The kernels of the step on one GPU in the order of execution, or the one of `conv`, each with
/// its estimate per launch; kernels of a block that repeats have a count. request.gpu and
/// request.machine are not looked at.
struct EstimatedKernels {
  std::vector<aggregate::OperatorEstimate> operators;
  aggregate::LaunchCosts costs;
  std::vector<std::string> notes;  ///< on the model
  std::vector<Input> model;
};
Result<EstimatedKernels> estimate_kernels(const Request& request,
                                          const std::optional<ops::ConvShape>& conv,
                                          const hardware::Machine& machine, const Session& session,
                                          const cost::Predictor& predictor);

}  // namespace rooftile::study
