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

using calibration::StepRow;
using cost::StackForm;

/// Rows of one source and phase that a fit looks at: they are regular grids, more say nothing new.
constexpr std::size_t kRowsPerSource = 24;

/// A number of the form that is searched for.
struct Searched {
  double StackForm::* value;
  double smallest;  ///< that a zero grows from
};

/// A number that no row depends on keeps its start. The gap between kernels that
/// are launched one by one is the machine's, not the stack's.
constexpr std::array kSearched{Searched{&StackForm::launch, 1e-6}, Searched{&StackForm::step, 1e-5},
                               Searched{&StackForm::replay_gap, 1e-7},
                               Searched{&StackForm::prefill_share, 0.1}};
/// Fewer rows than this decide nothing: the stack keeps the numbers that it has.
constexpr std::size_t kFewestRows = 8;

/// Every k-th row of each source and phase.
std::vector<StepRow> thinned(const std::vector<StepRow>& rows, const std::string& stack,
                             const FitStacksOptions& options) {
  std::map<std::string, std::vector<const StepRow*>> groups;
  for (const StepRow& row : rows) {
    if (row.request.step.stack == stack && row.skip.empty() && row.device != options.left_out)
      groups[row.source + "/" + row.phase].push_back(&row);
  }
  std::vector<StepRow> kept;
  for (const auto& [group, members] : groups) {
    const std::size_t stride = (members.size() + kRowsPerSource - 1) / kRowsPerSource;
    for (std::size_t i = 0; i < members.size(); i += stride) kept.push_back(*members[i]);
  }
  return kept;
}

/// Mean |log(predicted / measured)|, each source and phase with the same weight.
class Misfit {
 public:
  Misfit(std::vector<StepRow> rows, const Session& session, const StepCalibration& start)
      : rows_(std::move(rows)), session_(session), predictor_(start.predictor) {}

  double operator()(const cost::StackCosts& costs) {
    std::map<std::string, std::pair<double, double>> groups;  // sum, rows
    for (auto row = rows_.begin(); row != rows_.end();) {
      const auto ms = predicted_ms(*row, session_, {predictor_, costs});
      if (!ms) {  // cannot be expressed: the evaluation says so
        row = rows_.erase(row);
        continue;
      }
      auto& [sum, count] = groups[row->source + "/" + row->phase];
      sum += std::abs(std::log(*ms / row->measured_ms));
      count += 1;
      ++row;
    }
    double mean = 0;
    for (const auto& [group, sum] : groups) mean += sum.first / sum.second;
    return groups.empty() ? 0.0 : mean / static_cast<double>(groups.size());
  }
  [[nodiscard]] const std::vector<StepRow>& rows() const { return rows_; }

 private:
  std::vector<StepRow> rows_;
  const Session& session_;
  const cost::Predictor& predictor_;
};

/// Coordinate descent with factors that shrink.
void descend(const std::string& stack, Misfit& misfit, cost::StackCosts& costs) {
  constexpr double kLeastGain = 1e-5;
  StackForm& form = costs.stacks.at(stack);
  double best = misfit(costs);
  for (const double factor : {4.0, 2.0, 1.3, 1.1, 1.04}) {
    bool better = true;
    for (int round = 0; better && round < 6; ++round) {
      better = false;
      for (const Searched& number : kSearched) {
        for (const double by : {factor, 1 / factor}) {
          const double before = form.*number.value;
          form.*number.value = std::max(before, number.smallest) * by;
          const double now = misfit(costs);
          if (now < best - kLeastGain) {
            best = now;
            better = true;
            break;
          }
          form.*number.value = before;
        }
      }
    }
  }
}

/// Three digits are what the rows can tell.
double three_digits(double value) {
  if (value == 0) return 0;
  const double scale = std::pow(10.0, 2 - std::floor(std::log10(std::abs(value))));
  return std::round(value * scale) / scale;
}

}  // namespace

Result<cost::StackCosts> fit_stacks(const std::vector<StepRow>& rows, const Session& session,
                                    const StepCalibration& start, const FitStacksOptions& options) {
  cost::StackCosts costs = start.costs;
  for (auto& [stack, form] : costs.stacks) {
    Misfit misfit(thinned(rows, stack, options), session, start);
    if (misfit.rows().size() < kFewestRows || stack == "eager") continue;
    form = cost::starting<StackForm>();
    descend(stack, misfit, costs);
    std::set<std::string> gpus;
    for (const StepRow& row : misfit.rows()) gpus.insert(row.device);
    for (const auto& p : parameters_of(form))
      form.*p.value = std::clamp(three_digits(form.*p.value), p.low, p.high);
    costs.origins[stack] = {.rows = static_cast<std::int64_t>(misfit.rows().size()),
                            .gpus = {gpus.begin(), gpus.end()},
                            .command = options.command};
  }
  return costs;
}

}  // namespace rooftile::study
