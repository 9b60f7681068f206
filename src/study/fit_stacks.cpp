// SPDX-License-Identifier: Apache-2.0
#include "study/fit_stacks.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>
#include <utility>

namespace rooftile::study {

namespace {

using calibration::StepKind;
using calibration::StepRow;
using cost::StackForm;

/// Rows of one source, phase and GPU that a fit looks at: they are regular grids, more say nothing new.
constexpr std::size_t kRowsPerSource = 48;

/// A number of the form that is searched for.
struct Searched {
  double StackForm::* value;
  double smallest;  ///< that a zero grows from
};

/// A number that no row depends on keeps its start. The gap between kernels that
/// are launched one by one is the machine's, not the stack's.
constexpr std::array kSearched{Searched{&StackForm::launch, 1e-6}, Searched{&StackForm::step, 1e-5},
                               Searched{&StackForm::sequence, 1e-7},
                               Searched{&StackForm::replay_gap, 1e-7},
                               Searched{&StackForm::prefill_share, 0.1}};
/// Fewer rows than this decide nothing: the stack keeps the numbers that it has.
constexpr std::size_t kFewestRows = 8;

/// Every k-th row of each source, phase and GPU.
std::vector<const StepRow*> thinned(const std::vector<StepRow>& rows) {
  std::map<std::string, std::vector<const StepRow*>> groups;
  for (const StepRow& row : rows) {
    if (row.skip.empty()) groups[row.source + "/" + row.phase + "/" + row.device].push_back(&row);
  }
  std::vector<const StepRow*> kept;
  for (const auto& [group, members] : groups) {
    const std::size_t stride = (members.size() + kRowsPerSource - 1) / kRowsPerSource;
    for (std::size_t i = 0; i < members.size(); i += stride) kept.push_back(members[i]);
  }
  return kept;
}

Interval interval_of_step(const aggregate::StepEstimate& step) {
  return {.value = to_ms(step.total), .low = to_ms(step.low), .high = to_ms(step.high)};
}

/// What the kernel predictor is off on a GPU is not the stack's: a factor on the kernels of each
/// GPU is fitted with the stack and forgotten; it has its price, else it would explain anything.
constexpr double kFactorPrice = 0.25;
using KernelFactors = std::map<std::string, double>;  // by GPU

struct Trial {
  cost::StackCosts costs;
  KernelFactors kernels;
};

/// Mean |log(predicted / measured)| and the price, each source and phase with the same weight.
double misfit(const std::vector<const PreparedRow*>& rows, const cost::Predictor& predictor,
              const Trial& trial) {
  std::map<std::string, std::pair<double, double>> groups;  // sum, rows
  for (const PreparedRow* row : rows) {
    auto& [sum, count] = groups[row->row().source + "/" + row->row().phase];
    const double factor = trial.kernels.at(row->row().device);
    const double ms = row->predicted_ms({predictor, trial.costs}, factor);
    sum +=
        std::abs(std::log(ms / row->row().measured_ms)) + kFactorPrice * std::abs(std::log(factor));
    count += 1;
  }
  double mean = 0;
  for (const auto& [group, sum] : groups) mean += sum.first / sum.second;
  return groups.empty() ? 0.0 : mean / static_cast<double>(groups.size());
}

/// Coordinate descent with factors that shrink.
void descend(const std::string& stack, const std::vector<const PreparedRow*>& rows,
             const cost::Predictor& predictor, cost::StackCosts& costs) {
  constexpr double kLeastGain = 1e-5;
  Trial trial{.costs = costs, .kernels = {}};
  for (const PreparedRow* row : rows) trial.kernels[row->row().device] = 1;
  double best = misfit(rows, predictor, trial);
  /// Keeps the first of two changes of `number` that helps.
  const auto improved = [&](double& number, double smallest, double factor) {
    const double before = number;
    for (const double by : {factor, 1 / factor}) {
      number = std::max(before, smallest) * by;
      const double now = misfit(rows, predictor, trial);
      if (now < best - kLeastGain) {
        best = now;
        return true;
      }
      number = before;
    }
    return false;
  };
  for (const double factor : {4.0, 2.0, 1.3, 1.1, 1.04}) {
    bool better = true;
    for (int round = 0; better && round < 6; ++round) {
      better = false;
      StackForm& form = trial.costs.stacks.at(stack);
      for (const Searched& number : kSearched)
        better = improved(form.*number.value, number.smallest, factor) || better;
      if (factor > 1.3) continue;
      for (auto& [device, kernels] : trial.kernels)
        better = improved(kernels, kernels, factor) || better;
    }
  }
  costs.stacks.at(stack) = trial.costs.stacks.at(stack);
}

/// Three digits are what the rows can tell.
double three_digits(double value) {
  if (value == 0) return 0;
  const double scale = std::pow(10.0, 2 - std::floor(std::log10(std::abs(value))));
  return std::round(value * scale) / scale;
}

}  // namespace

Result<PreparedRow> PreparedRow::make(const StepRow& row, const Session& session,
                                      const StepCalibration& with) {
  PreparedRow prepared;
  prepared.row_ = &row;
  const Request& request = row.request.step;
  ROOFTILE_TRY(prepared.machine_, session.machine(request.gpu, request.machine));
  const auto add = [&](const Request& step) -> Status {
    ROOFTILE_TRY(PreparedStep one, prepare_step(step, *prepared.machine_, session, with.predictor));
    prepared.steps_.push_back(std::move(one));
    return {};
  };
  if (row.kind == StepKind::Step) {
    ROOFTILE_CHECK(add(row.request.step));
    return prepared;
  }
  ROOFTILE_TRY(prepared.running_, running_batch(row.request, session, with.predictor, with.costs));
  const GenerationSteps steps = steps_of(row.request, prepared.running_);
  ROOFTILE_CHECK(add(steps.prefill));
  for (const Request& step : steps.decode) ROOFTILE_CHECK(add(step));
  return prepared;
}

double PreparedRow::predicted_ms(const StepCalibration& with, double kernels) const {
  const auto estimate = [&](std::size_t i) {
    return steps_[i].step(*machine_, with.predictor, with.costs, kernels);
  };
  const auto time = [&](std::size_t i) { return interval_of_step(estimate(i)); };
  if (row_->kind == StepKind::Step) return time(0).value;
  const double share = with.costs.of(steps_.front().options.stack.id).prefill_share;
  StepTimes steps{.prefill = time(0), .decode = {time(1), time(2), time(3)}};
  if (row_->kind == StepKind::Serve && !row_->request.disaggregated)
    steps.shared = shared_ms(estimate(0), estimate(2));
  const GenerationTimes times = times_of(row_->request, running_, steps, share);
  return row_->kind == StepKind::Serve ? times.tpot.value : times.request.value;
}

StackFit::StackFit(const std::vector<StepRow>& rows, const Session& session,
                   const StepCalibration& start)
    : predictor_(start.predictor), start_(start.costs) {
  for (const StepRow* row : thinned(rows)) {
    // What cannot be expressed is left to the evaluation, which says why.
    if (auto prepared = PreparedRow::make(*row, session, start))
      rows_.push_back(std::move(*prepared));
  }
}

StackFit::Rows StackFit::rows_of(const std::string& stack, const std::string& left_out) const {
  std::map<std::string, std::set<std::string>> devices;  // by source
  for (const PreparedRow& row : rows_) devices[row.row().source].insert(row.row().device);
  Rows chosen;
  for (const PreparedRow& row : rows_) {
    const StepRow& r = row.row();
    const bool out = r.device == left_out && devices[r.source].size() > 1;
    if (r.request.step.stack == stack && !out) chosen.push_back(&row);
  }
  return chosen;
}

StackFit::FittedStack StackFit::fitted(const std::string& stack, const Rows& rows) const {
  cost::StackCosts costs = start_;
  StackForm& form = costs.stacks.at(stack);
  form = cost::starting<StackForm>();
  descend(stack, rows, predictor_, costs);
  for (const auto& p : parameters_of(form))
    form.*p.value = std::clamp(three_digits(form.*p.value), p.low, p.high);
  std::set<std::string> gpus;
  for (const PreparedRow* row : rows) gpus.insert(row->row().device);
  return {.form = form,
          .origin = {.rows = static_cast<std::int64_t>(rows.size()),
                     .gpus = {gpus.begin(), gpus.end()},
                     .command = {}}};
}

cost::StackCosts StackFit::fit(const std::string& left_out, const std::string& command) {
  cost::StackCosts costs = start_;
  for (auto& [stack, form] : costs.stacks) {
    const Rows rows = rows_of(stack, left_out);
    if (rows.size() < kFewestRows || stack == "eager") continue;
    // Rows of other stacks change nothing.
    const std::string key = rows.size() == rows_of(stack, {}).size() ? std::string() : left_out;
    auto known = known_[stack].find(key);
    if (known == known_[stack].end()) known = known_[stack].emplace(key, fitted(stack, rows)).first;
    form = known->second.form;
    costs.origins[stack] = known->second.origin;
    costs.origins[stack].command = command;
  }
  return costs;
}

}  // namespace rooftile::study
