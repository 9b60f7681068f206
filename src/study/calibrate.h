// SPDX-License-Identifier: Apache-2.0
//
// Parts of `calibrate` that evaluations of it share.
#pragma once

#include <array>
#include <span>
#include <string>
#include <vector>

#include "calibration/calibrate.h"
#include "core/result.h"
#include "cost/stack_costs.h"
#include "hardware/machine.h"
#include "rooftile/calibrate.h"
#include "study/session.h"

namespace rooftile::study {

/// A step as the machine, calibrated or not, predicts it.
Result<calibration::StepCaseOf> step_case(const TimedStep& step, const hardware::Machine& machine,
                                          const Session& session, const cost::Predictor& predictor,
                                          const cost::StackCosts& costs);
/// Fits Calibration::steps of the machine, which has a calibration, and gives the steps as they are
/// predicted with it.
struct FittedSteps {
  std::vector<calibration::StepCaseOf> cases;
  std::array<double, 3> told{};  ///< of compute, memory and host
};
Result<FittedSteps> fit_steps(std::span<const TimedStep> steps, const Session& session,
                              const cost::Predictor& predictor, const cost::StackCosts& costs,
                              hardware::Machine& machine);

}  // namespace rooftile::study
