// SPDX-License-Identifier: Apache-2.0
//
// What software stacks cost (cost/stack_costs.h), fitted to measured steps: the numbers of a stack
// that make the mean |log(predicted / measured)| of its rows smallest. Sources count equally,
// however many rows they have. A stack without rows keeps the numbers that it has.
#pragma once

#include <string>
#include <vector>

#include "calibration/steps.h"
#include "core/result.h"
#include "cost/predictor.h"
#include "cost/stack_costs.h"
#include "study/session.h"

namespace rooftile::study {

/// What a step is predicted with.
struct StepCalibration {
  const cost::Predictor& predictor;
  const cost::StackCosts& costs;
};

Result<double> predicted_ms(const calibration::StepRow& row, const Session& session,
                            const StepCalibration& with);

struct FitStacksOptions {
  std::string left_out;      ///< rows of this GPU are not looked at
  std::string command = {};  ///< for the origins
};

Result<cost::StackCosts> fit_stacks(const std::vector<calibration::StepRow>& rows,
                                    const Session& session, const StepCalibration& start,
                                    const FitStacksOptions& options);

}  // namespace rooftile::study
