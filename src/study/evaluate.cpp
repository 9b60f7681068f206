// SPDX-License-Identifier: Apache-2.0
//
// Predictions against measured kernels, measured steps, counted or simulated bytes and launched
// tiles. With leave_one_gpu_out the predictors are fitted here first, without each GPU in turn.
#include "study/evaluate.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>
#include <utility>

#include "calibration/fit.h"
#include "calibration/fit_neusight.h"
#include "calibration/intervals.h"
#include "calibration/plausible.h"
#include "calibration/validate_traffic.h"
#include "core/provenance.h"
#include "core/text.h"
#include "cost/learned/learned.h"
#include "cost/neusight/neusight.h"
#include "rooftile/report.h"
#include "rooftile/request.h"
#include "study/part_of.h"
#include "study/session.h"

namespace rooftile::study {

namespace {

Status check_two_gpus(const calibration::Dataset& dataset) {
  if (dataset.machines.size() >= 2) return {};
  return bad_input(dataset.files.front(), "holds a single GPU: nothing is left to fit on",
                   "add files with other GPUs");
}

Status check_refit(const EvaluateRequest& request) {
  if (request.predictor.empty() || request.predictor == "rooftile") return {};
  return usage_error("--leave-one-gpu-out refits the predictor \"rooftile\" only",
                     "leave out --predictor; the table has columns for the baselines");
}

Result<std::string> one_file(const EvaluateRequest& request) {
  if (request.files.size() == 1) return request.files.front();
  return usage_error("evaluate " + request.subject + " reads one file");
}

/// Both predictors that are refitted; the default first, which takes most of the time.
struct Refits {
  calibration::Fits fits;
  calibration::NeuSightFits neusight;
};
Result<Refits> refit(const calibration::Dataset& dataset, const Catalog& catalog,
                     const EvaluateRequest& request, bool all_gpus, const Progress& progress) {
  ROOFTILE_CHECK(check_two_gpus(dataset));
  constexpr double kShareOfDefault = 0.6;
  calibration::FitOptions options{
      .seed = request.seed, .threads = request.threads, .all_gpus = all_gpus};
  options.progress = part_of(progress, 0, kShareOfDefault, "refit");
  ROOFTILE_TRY(calibration::Fits fits, calibration::fit(dataset, catalog, options));
  options.progress = part_of(progress, kShareOfDefault, 1, "refit neusight");
  ROOFTILE_TRY(calibration::NeuSightFits neusight, calibration::fit_neusight(dataset, options, {}));
  return Refits{.fits = std::move(fits), .neusight = std::move(neusight)};
}

Result<calibration::Evaluation> evaluation_of(const EvaluateRequest& request,
                                              const calibration::Dataset& dataset,
                                              const Session& session, const Progress& progress) {
  if (request.leave_one_gpu_out) {
    ROOFTILE_CHECK(check_refit(request));
    ROOFTILE_TRY(const Refits refits, refit(dataset, session.catalog(), request, false, progress));
    return calibration::evaluate_left_out(dataset, refits.fits, &refits.neusight);
  }
  ROOFTILE_TRY(const auto predictor, session.predictor(request.predictor));
  for (const hardware::Machine& machine : dataset.machines) {
    ROOFTILE_CHECK(predictor->check(machine));
  }
  ROOFTILE_TRY(const auto trivial, session.predictor("trivial"));
  ROOFTILE_TRY(const auto neusight, session.predictor("neusight"));
  return calibration::evaluate(dataset, *predictor,
                               {.trivial = trivial.get(), .neusight = neusight.get()});
}

/// The measured kernels that lie next to a label file, in nvidia/ and amd/, and its traced nodes.
std::vector<std::string> kernels_beside(const std::string& labels) {
  namespace fs = std::filesystem;
  std::vector<std::string> files;
  std::error_code absent;
  const fs::path nodes = fs::path(labels).parent_path() / "labels_per_node.csv";
  if (fs::is_regular_file(nodes, absent)) files.push_back(nodes.string());
  for (const char* vendor : {"nvidia", "amd"}) {
    std::error_code failure;
    fs::directory_iterator it(fs::path(labels).parent_path() / vendor, failure);
    for (; !failure && it != fs::directory_iterator(); it.increment(failure)) {
      if (it->path().extension() == ".csv") files.push_back(it->path().string());
    }
  }
  std::sort(files.begin(), files.end());
  return files;
}

/// Predictors for labels, owned.
struct PredictorSet {
  std::shared_ptr<const cost::Predictor> main, trivial, neusight;
  [[nodiscard]] calibration::LabelPredictors view() const {
    return {.main = main.get(), .trivial = trivial.get(), .neusight = neusight.get()};
  }
};

PredictorSet make_set(const cost::learned::Weights& weights,
                      const cost::neusight::Weights& neusight) {
  auto rival = cost::neusight::make_neusight(neusight);
  rival->set_constants(weights.constants);
  return {.main = cost::learned::make_learned(weights),
          .trivial = cost::learned::make_trivial(weights),
          .neusight = std::move(rival)};
}

struct LeftOut {
  calibration::PredictorsOf predictors_of;
  std::vector<std::string> notes;  ///< what could not be left out
};

/// One set per GPU of the data, each fitted without it; GPUs that the data do not show get the one
/// that was fitted on everything.
Result<LeftOut> left_out_predictors(const EvaluateRequest& request, const std::string& file,
                                    const Catalog& catalog, const Progress& progress) {
  const auto files = request.fit_with.empty() ? kernels_beside(file) : request.fit_with;
  if (files.empty()) {
    return usage_error("--leave-one-gpu-out needs measured kernels to refit on",
                       "name them with --kernels FILE...");
  }
  ROOFTILE_TRY(const calibration::Dataset dataset, calibration::read_datasets(files, catalog));
  ROOFTILE_TRY(Refits refits, refit(dataset, catalog, request, true, progress));
  calibration::Fits& fits = refits.fits;
  auto by_gpu = std::make_shared<std::map<std::string, PredictorSet>>();
  // Intervals from the residuals of the GPUs that are not left out.
  const calibration::Evaluation residuals = calibration::evaluate_left_out(dataset, fits, nullptr);
  for (std::uint32_t i = 0; i < fits.without.size(); ++i) {
    cost::learned::Weights& weights = fits.without[i];
    calibration::calibrate_weights(dataset, residuals.cases, i, weights);
    (*by_gpu)[dataset.machines[i].gpu.id] = make_set(weights, refits.neusight.without[i]);
  }
  calibration::calibrate_weights(dataset, residuals.cases, std::nullopt, *fits.all);
  (*by_gpu)[""] = make_set(*fits.all, *refits.neusight.all);
  LeftOut out;
  for (const std::string& note : fits.notes) out.notes.push_back("not left out: " + note);
  out.predictors_of = [by_gpu](const hardware::GpuSpec& gpu) {
    const auto it = by_gpu->find(gpu.id);
    return (it != by_gpu->end() ? it : by_gpu->find(""))->second.view();
  };
  return out;
}

Result<LeftOut> named_predictors(const std::string& name, const Session& session) {
  PredictorSet set;
  ROOFTILE_TRY(set.main, session.predictor(name));
  ROOFTILE_TRY(set.trivial, session.predictor("trivial"));
  ROOFTILE_TRY(set.neusight, session.predictor("neusight"));
  return LeftOut{.predictors_of = [set](const hardware::GpuSpec&) { return set.view(); },
                 .notes = {}};
}

}  // namespace

Result<KernelEvaluation> Session::evaluate_kernels(const EvaluateRequest& request,
                                                   const Progress& progress) const {
  KernelEvaluation result;
  ROOFTILE_TRY(result.dataset, calibration::read_datasets(request.files, catalog()));
  if (!request.campaign.empty()) {
    ROOFTILE_CHECK(calibration::keep_campaign(request.campaign, result.dataset));
  }
  ROOFTILE_TRY(result.evaluation, evaluation_of(request, result.dataset, *this, progress));
  return result;
}

Result<calibration::LabelEvaluation> Session::evaluate_labels(const EvaluateRequest& request,
                                                              const Progress& progress) const {
  ROOFTILE_TRY(const std::string file, one_file(request));
  if (request.leave_one_gpu_out) ROOFTILE_CHECK(check_refit(request));
  const double refits = request.leave_one_gpu_out ? 0.95 : 0.0;  // share of the time
  ROOFTILE_TRY(LeftOut predictors,
               request.leave_one_gpu_out
                   ? left_out_predictors(request, file, catalog(), part_of(progress, 0, refits, ""))
                   : named_predictors(request.predictor, *this));
  ROOFTILE_TRY(calibration::LabelEvaluation evaluation,
               calibration::evaluate_labels(
                   file, request.models, catalog(), predictors.predictors_of,
                   [this](const Request& step, const cost::Predictor& predictor) {
                     return predict(step, predictor);
                   },
                   part_of(progress, refits, 1, "steps")));
  evaluation.left_out = request.leave_one_gpu_out;
  for (std::string& note : predictors.notes) evaluation.warnings.push_back(std::move(note));
  return evaluation;
}

Result<calibration::ValidationTable> Session::evaluate_traffic(const EvaluateRequest& request,
                                                               const Progress& progress) const {
  ROOFTILE_TRY(const std::string file, one_file(request));
  return calibration::validate_traffic({.file = file,
                                        .count = request.count,
                                        .seed = static_cast<std::int64_t>(request.seed),
                                        .leave_one_gpu_out = request.leave_one_gpu_out,
                                        .fit_with = request.fit_with},
                                       catalog(), progress);
}

Result<TileEvaluation> Session::evaluate_tiles(const EvaluateRequest& request,
                                               const Progress& progress) const {
  ROOFTILE_TRY(const calibration::Dataset dataset,
               calibration::read_datasets(request.files, catalog()));
  calibration::FitOptions options{
      .seed = request.seed, .threads = request.threads, .all_gpus = false};
  options.progress = progress;
  ROOFTILE_TRY(const calibration::Fits fits, calibration::fit(dataset, catalog(), options));
  TileEvaluation result;
  result.groups = calibration::compare_tiles(dataset, fits, {.seed = request.seed});
  if (result.groups.empty())
    return bad_input(request.files.front(),
                     "no matrix products of two GPUs whose kernel names state a tile",
                     "give files with a column \"kernel\" and more than one GPU of a vendor");
  result.provenance = make_provenance(fits.inputs);
  result.warnings = calibration::warnings_of(dataset);
  for (std::string& note : replacement_notes(result.provenance))
    result.warnings.push_back(std::move(note));
  return result;
}

Result<EvaluateReport> Session::evaluate(const EvaluateRequest& request,
                                         const Progress& progress) const {
  if (request.files.empty()) return usage_error("evaluate needs a file of measurements");
  if (request.subject == "kernels") {
    ROOFTILE_TRY(const KernelEvaluation kernels, evaluate_kernels(request, progress));
    return report_of(kernels.evaluation, kernels.dataset);
  }
  if (request.subject == "labels") {
    ROOFTILE_TRY(const auto labels, evaluate_labels(request, progress));
    return report_of(labels);
  }
  if (request.subject == "traffic") {
    ROOFTILE_TRY(const auto table, evaluate_traffic(request, progress));
    return report_of(table);
  }
  if (request.subject == "tiles") {
    ROOFTILE_TRY(const TileEvaluation tiles, evaluate_tiles(request, progress));
    return report_of(tiles);
  }
  return usage_error("unknown subject \"" + printable(request.subject) + "\"",
                     "the subjects are kernels, labels, traffic and tiles");
}

}  // namespace rooftile::study
