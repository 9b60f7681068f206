// SPDX-License-Identifier: Apache-2.0
//
// Measured whole steps against predictions, and the fit of what the stacks cost to them.
#include "calibration/steps.h"
#include "calibration/fit_one_shot.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <set>
#include <utility>

#include "core/provenance.h"
#include "core/text.h"
#include "cost/predictor.h"
#include "cost/stack_costs.h"
#include "execution/stack.h"
#include "hardware/machine.h"
#include "rooftile/generate.h"
#include "rooftile/report.h"
#include "study/fit_stacks.h"
#include "study/part_of.h"
#include "study/session.h"

namespace rooftile::study {

namespace {

using calibration::StepCase;
using calibration::StepEvaluation;
using calibration::StepKind;
using calibration::StepRow;

constexpr double kGib = 1024.0 * 1024.0 * 1024.0;

void set_memory(const MemoryReport& memory, StepCase& result) {
  result.predicted_memory_gib = memory.total_bytes / kGib;
  result.fits = memory.fits;
}

/// A bound of the generation: those of its steps, weighed as their times are.
double generation_bound(const GenerateReport& report, StepKind kind, double share) {
  const auto osl = static_cast<double>(report.request.osl);
  const double prefill = report.prefill.bound_total_ms;
  const double decode = report.decode.bound_total_ms;
  if (kind == StepKind::Generate) return prefill + decode * (osl - 1);
  if (report.request.disaggregated) return decode;
  const double alone = std::max(prefill - decode, 0.0);  // a step of both takes the longer one
  return decode + alone * share * static_cast<double>(report.batch) / osl;
}

Status predict_row(const StepRow& row, const Session& session, const StepCalibration& with,
                   StepCase& result, std::vector<Input>& inputs) {
  if (row.kind == StepKind::Step) {
    ROOFTILE_TRY(const Report report,
                 session.predict(row.request.step, with.predictor, with.costs));
    result.predicted_ms = report.latency.total_ms;
    result.low_ms = report.latency.low_ms;
    result.high_ms = report.latency.high_ms;
    result.bound_ms = report.bound_total_ms;
    set_memory(report.memory, result);
    add_inputs(report.provenance.inputs, inputs);
    return {};
  }
  ROOFTILE_TRY(const GenerateReport report,
               session.generate(row.request, with.predictor, with.costs));
  // How many requests run at once is an upper limit in such rows, and no measure of the model
  // where the weights and the caches of all of them cannot even be read in the time.
  if (row.kind == StepKind::Serve && row.measured_ms < report.decode.bound_total_ms) {
    return unsupported({},
                       "faster than the requests' weights and caches can be read: fewer run at "
                       "once than the row says",
                       {});
  }
  const Interval& time = row.kind == StepKind::Serve ? report.tpot_ms : report.request_ms;
  result.predicted_ms = time.value;
  result.low_ms = time.low;
  result.high_ms = time.high;
  const double share = with.costs.of(row.request.step.stack).prefill_share;
  result.bound_ms = std::min(generation_bound(report, row.kind, share), time.low);
  set_memory(report.memory, result);
  add_inputs(report.provenance.inputs, inputs);
  return {};
}

/// What the row asks for does not exist here: a reason to skip it. Anything else is a mistake.
bool is_unexpressed(const Error& error) {
  return error.code == ErrorCode::Unsupported || error.code == ErrorCode::BadInput ||
         error.code == ErrorCode::Usage;
}

Result<StepCase> case_of(const StepRow& row, const Session& session, const StepCalibration& with,
                         std::vector<Input>& inputs) {
  StepCase result;
  result.row = row;
  result.skipped = row.skip;
  if (!result.skipped.empty()) return result;
  const Status status = predict_row(row, session, with, result, inputs);
  if (status) return result;
  if (!is_unexpressed(status.error())) return tl::unexpected(status.error());
  result.skipped = status.error().message;
  return result;
}

/// The costs with which rows of a GPU are predicted.
using CostsOf = std::function<const cost::StackCosts&(const std::string& device)>;

Result<CostsOf> left_out_costs(const std::vector<StepRow>& rows, const Session& session,
                               const StepCalibration& with, const Progress& progress) {
  std::set<std::string> devices;
  for (const StepRow& row : rows) {
    if (row.skip.empty()) devices.insert(row.device);
  }
  StackFit stacks(rows, session, with);
  auto by_device = std::make_shared<std::map<std::string, cost::StackCosts>>();
  for (const std::string& device : devices) {
    const auto done = static_cast<double>(by_device->size()) / static_cast<double>(devices.size());
    if (progress && !progress({.fraction = done, .note = "without " + device}))
      return bad_input({}, "the evaluation was stopped", {});
    (*by_device)[device] = stacks.fit(device, {});
  }
  return CostsOf([by_device](const std::string& device) -> const cost::StackCosts& {
    return by_device->at(device);
  });
}

}  // namespace

void name_stack(const Session& session, StepRow& row) {
  std::string framework = to_lower(row.framework);
  while (!framework.empty()) {
    if (framework.find('/') == std::string::npos) {
      if (const auto stack = session.stack(framework)) {
        row.request.step.stack = (*stack)->id;
        return;
      }
    }
    const std::size_t space = framework.rfind(' ');  // versions are at the end
    framework = space == std::string::npos ? std::string() : framework.substr(0, space);
  }
}

Result<StepEvaluation> Session::evaluate_steps(const StepsRequest& request,
                                               const Progress& progress) const {
  ROOFTILE_TRY(std::vector<StepRow> rows, calibration::read_steps(request.file));
  for (StepRow& row : rows) name_stack(*this, row);
  ROOFTILE_TRY(const auto predictor, this->predictor(request.predictor));
  ROOFTILE_TRY(const auto shipped, stack_costs());
  CostsOf costs_of = [&shipped](const std::string&) -> const cost::StackCosts& { return *shipped; };
  if (request.left_out) {
    ROOFTILE_TRY(costs_of, left_out_costs(rows, *this, {*predictor, *shipped},
                                          part_of(progress, 0, 0.5, "stacks")));
  }
  StepEvaluation evaluation;
  evaluation.predictor = predictor->name();
  evaluation.left_out = request.left_out;
  std::vector<Input> inputs;
  for (const StepRow& row : rows) {
    const double done =
        static_cast<double>(evaluation.cases.size()) / static_cast<double>(rows.size());
    if (progress &&
        !progress({.fraction = request.left_out ? 0.5 + 0.5 * done : done, .note = row.name}))
      return bad_input({}, "the evaluation was stopped", {});
    const cost::StackCosts& costs = row.skip.empty() ? costs_of(row.device) : *shipped;
    ROOFTILE_TRY(StepCase one, case_of(row, *this, {*predictor, costs}, inputs));
    if (!one.skipped.empty()) ++evaluation.skipped[one.skipped];
    evaluation.cases.push_back(std::move(one));
  }
  evaluation.summary = calibration::summarize_steps(evaluation.cases);
  set_provenance(inputs, evaluation);
  return evaluation;
}

Result<cost::StackCosts> Session::fit_stacks(const FitStacksRequest& request,
                                             const Progress& progress) const {
  std::vector<StepRow> rows;
  std::vector<calibration::OneShotRow> sums;
  for (const std::string& file : request.files) {
    ROOFTILE_TRY(const bool collectives, calibration::is_one_shot(file));
    if (collectives) {
      ROOFTILE_TRY(const auto more, calibration::read_one_shot(file, catalog()));
      sums.insert(sums.end(), more.begin(), more.end());
    } else {
      ROOFTILE_TRY(auto more, calibration::read_steps(file));
      for (StepRow& row : more) name_stack(*this, row);
      rows.insert(rows.end(), more.begin(), more.end());
    }
  }
  ROOFTILE_TRY(const auto predictor, this->predictor(request.predictor));
  ROOFTILE_TRY(const auto shipped, stack_costs());
  cost::StackCosts start = *shipped;
  if (!sums.empty()) {
    start.one_shot = calibration::fit_one_shot(sums);
    std::set<std::string> gpus;
    for (const calibration::OneShotRow& row : sums) gpus.insert(row.gpu);
    start.origins["one_shot"] = {.rows = static_cast<std::int64_t>(sums.size()),
                                 .gpus = {gpus.begin(), gpus.end()},
                                 .command = request.command};
  }
  if (progress && !progress({.fraction = 0, .note = "stacks"}))
    return bad_input({}, "the fit was stopped", {});
  return StackFit(rows, *this, {*predictor, start}).fit({}, request.command);
}

}  // namespace rooftile::study
