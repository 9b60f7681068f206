// SPDX-License-Identifier: Apache-2.0
//
// How much a minute of measuring helps: a few random rows of a GPU that the predictor has not seen
// calibrate it, and the rest of that GPU's rows are predicted; or one measured step calibrates a
// machine and its other steps are predicted.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <random>
#include <utility>

#include "calibration/calibrate.h"
#include "calibration/fit.h"
#include "calibration/steps.h"
#include "core/error_statistics.h"
#include "core/provenance.h"
#include "cost/learned/classes.h"
#include "cost/learned/learned.h"
#include "study/calibrate.h"
#include "study/evaluate.h"
#include "study/fit_stacks.h"
#include "study/part_of.h"
#include "study/session.h"

namespace rooftile::study {

namespace {

using calibration::CalibrationCase;
using cost::learned::Calibrated;

/// Rows of a cell that are looked at; more change no digit.
constexpr std::size_t kMostRows = 3000;
constexpr std::size_t kMostOtherSteps = 100;

/// `count` of 0 .. size - 1, without repetition; the same on every machine.
std::vector<std::size_t> drawn(std::size_t size, std::size_t count, std::mt19937_64& random) {
  std::vector<std::size_t> all(size);
  for (std::size_t i = 0; i < size; ++i) all[i] = i;
  const std::size_t kept = std::min(count, size);
  for (std::size_t i = 0; i < kept; ++i)
    std::swap(all[i], all[i + static_cast<std::size_t>(random() % (size - i))]);
  all.resize(kept);
  return all;
}

/// Kernels of one GPU, class and campaign.
using Cells = std::map<std::string, std::vector<const calibration::Sample*>>;

Cells cells_of(const calibration::Dataset& dataset, std::uint32_t gpu) {
  Cells cells;
  for (const calibration::Sample& sample : dataset.samples) {
    if (sample.gpu != gpu) continue;
    const std::string& campaign = dataset.campaigns[sample.campaign];
    cells[fmt::format("{}/{}{}{}", cost::learned::class_of(sample.work),
                      dataset.machines[gpu].gpu.id, campaign.empty() ? "" : "/", campaign)]
        .push_back(&sample);
  }
  return cells;
}

struct Drawing {
  const CalibrateEvaluationRequest& request;
  const cost::Predictor& predictor;
  ErrorGroups& groups;
};

/// Draws rows of the cell, calibrates with them and predicts the others.
void evaluate_cell(const std::string& name, const std::vector<CalibrationCase>& cases,
                   const Drawing& with) {
  const std::string kind = name.substr(0, name.find('/'));
  const bool warm = name.ends_with(calibration::kWarmCampaign);
  for (std::int64_t draw = 0; draw < with.request.draws; ++draw) {
    std::mt19937_64 random(with.request.seed * 1000003 + static_cast<std::uint64_t>(draw));
    std::vector<bool> seen(cases.size(), false);
    std::vector<CalibrationCase> rows;
    for (const std::size_t i :
         drawn(cases.size(), static_cast<std::size_t>(with.request.rows), random)) {
      seen[i] = true;
      rows.push_back(cases[i]);
    }
    const Calibrated posterior(calibration::calibrate_kernels(rows, with.predictor));
    for (std::size_t i = 0; i < cases.size(); ++i) {
      if (seen[i]) continue;
      const CalibrationCase& one = cases[i];
      const auto correction = posterior.at(one.point);
      const double time = one.corrected(correction.log);
      const double width = std::exp(correction.half_width.value_or(0.0));
      const Compared compared{.measured = one.measured,
                              .predicted = time,
                              .low = std::max(time / width, one.bound),
                              .high = time * width};
      const ErrorGroups::Baselines before{{"uncalibrated", one.predicted}};
      with.groups.add(name, compared, before);
      with.groups.add(warm ? kind + " (warm)" : kind, compared, before);
    }
  }
}

std::vector<CalibrationCase> cases_of(const std::vector<const calibration::Sample*>& samples,
                                      const calibration::Dataset& dataset,
                                      const cost::Predictor& predictor, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  calibration::Dataset part;
  part.files = dataset.files;
  for (const std::size_t i : drawn(samples.size(), kMostRows, random))
    part.samples.push_back(*samples[i]);
  const std::uint32_t gpu = samples.front()->gpu;
  cost::Estimator estimator = predictor.on(dataset.machines[gpu]);
  std::vector<CalibrationCase> cases;
  for (const auto& kernel : calibration::kernels_of(part, gpu)) {
    // Rates were checked when the rows were read.
    if (auto one = calibration::calibration_case(kernel, predictor, estimator))
      cases.push_back(*std::move(one));
  }
  return cases;
}

Status evaluate_rows(const CalibrateEvaluationRequest& request, const Session& session,
                     const Progress& progress, ErrorGroups& groups,
                     CalibrateEvaluation& evaluation) {
  ROOFTILE_TRY(const calibration::Dataset dataset,
               calibration::read_datasets(request.files, session.catalog()));
  if (dataset.machines.size() < 2)
    return bad_input(request.files.front(), "holds a single GPU: nothing is left to fit on",
                     "add files with other GPUs");
  calibration::FitOptions options{
      .seed = request.seed, .threads = request.threads, .all_gpus = false};
  constexpr double kShareOfFit = 0.7;
  options.progress = part_of(progress, 0, kShareOfFit, "refit");
  ROOFTILE_TRY(const calibration::Fits fits, calibration::fit(dataset, session.catalog(), options));
  for (const std::string& note : fits.notes) evaluation.warnings.push_back("not left out: " + note);
  for (std::uint32_t gpu = 0; gpu < dataset.machines.size(); ++gpu) {
    const auto predictor = cost::learned::make_learned(fits.without[gpu]);
    const double done = static_cast<double>(gpu) / static_cast<double>(dataset.machines.size());
    if (progress && !progress({.fraction = kShareOfFit + (1 - kShareOfFit) * done,
                               .note = dataset.machines[gpu].gpu.id}))
      return bad_input({}, "the evaluation was stopped", {});
    for (const auto& [name, samples] : cells_of(dataset, gpu)) {
      if (static_cast<std::int64_t>(samples.size()) < 2 * request.rows) continue;
      evaluate_cell(name, cases_of(samples, dataset, *predictor, request.seed),
                    {.request = request, .predictor = *predictor, .groups = groups});
    }
  }
  add_inputs(fits.inputs, evaluation.inputs);
  return {};
}

/// Steps of one source, framework and GPU: one machine with its software.
using StepGroups = std::map<std::string, std::vector<TimedStep>>;

StepGroups step_groups(const std::vector<calibration::StepRow>& rows) {
  StepGroups groups;
  for (const calibration::StepRow& row : rows) {
    if (!row.skip.empty() || row.kind != calibration::StepKind::Step) continue;
    groups[fmt::format("steps/{}/{}/{}", row.source, row.framework, row.device)].push_back(
        {.step = row.request.step, .measured_ms = row.measured_ms});
  }
  return groups;
}

/// Each of some steps calibrates, the others are predicted.
Status evaluate_group(const std::string& name, const std::vector<TimedStep>& steps,
                      const Session& session, const Drawing& with) {
  ROOFTILE_TRY(const auto costs, session.stack_costs());
  ROOFTILE_TRY(const auto base, session.machine(steps.front().step.gpu, std::nullopt));
  hardware::Machine machine = *base;
  machine.ceilings.emplace();
  std::mt19937_64 random(with.request.seed);
  const auto draws = drawn(steps.size(), static_cast<std::size_t>(with.request.draws), random);
  for (const std::size_t calibrating : draws) {
    machine.ceilings->calibration = calibration::uncalibrated(with.predictor, {});
    ROOFTILE_CHECK(fit_steps({&steps[calibrating], 1}, session, with.predictor, *costs, machine));
    for (const std::size_t i : drawn(steps.size(), kMostOtherSteps, random)) {
      if (i == calibrating) continue;
      ROOFTILE_TRY(const auto before, step_case(steps[i], *base, session, with.predictor, *costs));
      ROOFTILE_TRY(const auto after, step_case(steps[i], machine, session, with.predictor, *costs));
      const Compared compared{.measured = steps[i].measured_ms,
                              .predicted = after.predicted_ms,
                              .low = after.predicted_ms,
                              .high = after.predicted_ms};
      for (const std::string& group : {std::string("steps"), name})
        with.groups.add(group, compared, {{"uncalibrated", before.predicted_ms}});
    }
  }
  return {};
}

Status evaluate_step_file(const CalibrateEvaluationRequest& request, const std::string& file,
                          const Session& session, const Progress& progress, ErrorGroups& groups,
                          CalibrateEvaluation& evaluation) {
  ROOFTILE_TRY(auto rows, calibration::read_steps(file));
  for (calibration::StepRow& row : rows) name_stack(session, row);
  ROOFTILE_TRY(const auto predictor, session.predictor({}));
  const StepGroups machines = step_groups(rows);
  double done = 0;
  for (const auto& [name, steps] : machines) {
    if (progress &&
        !progress({.fraction = done++ / static_cast<double>(machines.size()), .note = name}))
      return bad_input({}, "the evaluation was stopped", {});
    if (steps.size() < 2) continue;
    const Status status = evaluate_group(
        name, steps, session, {.request = request, .predictor = *predictor, .groups = groups});
    if (!status)
      evaluation.warnings.push_back(fmt::format("{} left out: {}", name, status.error().message));
  }
  add_inputs(predictor->inputs(), evaluation.inputs);
  return {};
}

}  // namespace

Result<CalibrateEvaluation> Session::evaluate_calibrate(const CalibrateEvaluationRequest& request,
                                                        const Progress& progress) const {
  constexpr std::int64_t kMost = 300, kMostDraws = 1000;
  if (request.rows < 1 || request.rows > kMost)
    return usage_error(fmt::format("--rows {} is not between 1 and {}", request.rows, kMost));
  if (request.draws < 1 || request.draws > kMostDraws)
    return usage_error(
        fmt::format("--draws {} is not between 1 and {}", request.draws, kMostDraws));
  CalibrateEvaluation evaluation{.rows = request.rows, .draws = request.draws};
  ErrorGroups groups;
  const bool steps = request.files.size() == 1 && calibration::is_step_file(request.files.front());
  if (steps) {
    ROOFTILE_CHECK(
        evaluate_step_file(request, request.files.front(), *this, progress, groups, evaluation));
    evaluation.rows = 1;
  } else {
    ROOFTILE_CHECK(evaluate_rows(request, *this, progress, groups, evaluation));
  }
  evaluation.summary = groups.summary();
  if (evaluation.summary.empty())
    return bad_input(request.files.front(), "has too few rows of every GPU and class",
                     steps ? "a source and framework need two steps on one GPU"
                           : "a class needs twice as many rows as --rows");
  set_provenance(evaluation.inputs, evaluation);
  return evaluation;
}

}  // namespace rooftile::study
