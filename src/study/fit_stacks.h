// SPDX-License-Identifier: Apache-2.0
//
// What software stacks cost (cost/stack_costs.h), fitted to measured steps: the numbers of a stack
// that make the mean |log(predicted / measured)| of its rows smallest. Sources count equally,
// however many rows they have. A stack without rows keeps the numbers that it has. Kernels are
// estimated once per row, whatever is left out and however often the costs change.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "calibration/steps.h"
#include "core/result.h"
#include "cost/predictor.h"
#include "cost/stack_costs.h"
#include "study/generate.h"
#include "study/predict.h"
#include "study/session.h"

namespace rooftile::study {

/// What a step is predicted with.
struct StepCalibration {
  const cost::Predictor& predictor;
  const cost::StackCosts& costs;
};

/// A measured row whose kernels are estimated.
class PreparedRow {
 public:
  static Result<PreparedRow> make(const calibration::StepRow& row, const Session& session,
                                  const StepCalibration& with);
  [[nodiscard]] const calibration::StepRow& row() const { return *row_; }
  /// `kernels`: a factor on the time of every kernel.
  [[nodiscard]] double predicted_ms(const StepCalibration& with, double kernels) const;

 private:
  const calibration::StepRow* row_ = nullptr;
  std::shared_ptr<const hardware::Machine> machine_;
  std::vector<PreparedStep> steps_;  ///< one, or prefill and the decode steps of a generation
  std::int64_t running_ = 1;
};

class StackFit {
 public:
  /// Rows outlive the fit.
  StackFit(const std::vector<calibration::StepRow>& rows, const Session& session,
           const StepCalibration& start);

  /// From rows of all GPUs, or without those of one, of sources that show others too: a source of
  /// a single GPU has nothing else to say. `command` is for the origins.
  [[nodiscard]] cost::StackCosts fit(const std::string& left_out, const std::string& command);

 private:
  using Rows = std::vector<const PreparedRow*>;
  struct FittedStack {
    cost::StackForm form;
    cost::StackOrigin origin;
  };
  [[nodiscard]] Rows rows_of(const std::string& stack, const std::string& left_out) const;
  [[nodiscard]] FittedStack fitted(const std::string& stack, const Rows& rows) const;

  const cost::Predictor& predictor_;
  cost::StackCosts start_;
  std::vector<PreparedRow> rows_;
  std::map<std::string, std::map<std::string, FittedStack>> known_;  ///< by stack, what is left out
};

/// The stack of a row is that of its framework where there is one of that name ("SGLang 0.5",
/// "FasterTransformer"), else the kind of stack that the row states.
void name_stack(const Session& session, calibration::StepRow& row);

}  // namespace rooftile::study
