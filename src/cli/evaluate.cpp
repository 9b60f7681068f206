// SPDX-License-Identifier: Apache-2.0
//
// rooftile evaluate kernels FILE..., labels FILE --models DIR, traffic FILE, tiles FILE...:
// predictions against measured kernels and collectives, measured steps of whole models, bytes that
// were counted or simulated, and tiles that were launched.
#include <algorithm>
#include <filesystem>
#include <memory>

#include "calibration/evaluate.h"
#include "calibration/fit.h"
#include "calibration/labels.h"
#include "calibration/plausible.h"
#include "calibration/tile_report.h"
#include "calibration/validate_traffic.h"
#include "cli/commands.h"
#include "cli/evaluate.h"
#include "core/provenance.h"
#include "cost/learned/learned.h"
#include "hardware/load.h"
#include "report/evaluation_view.h"
#include "report/label_view.h"
#include "report/tile_view.h"
#include "report/validation_view.h"
#include "study/session.h"

namespace rooftile::cli {

namespace {

struct EvaluateKernels {
  std::vector<std::string> files;
  std::string predictor;
  std::string campaign;  ///< empty: all
  bool left_out = false;
  calibration::FitOptions fit;
  Output output;
};

Status check_two_gpus(const calibration::Dataset& dataset) {
  if (dataset.machines.size() >= 2) return {};
  return bad_input(dataset.files.front(), "has only one GPU, so there is nothing left to fit on",
                   "add files with other GPUs");
}

Result<calibration::Evaluation> evaluation_of(const EvaluateKernels& command,
                                              const calibration::Dataset& dataset,
                                              const Catalog& catalog) {
  if (!command.left_out) {
    ROOFTILE_TRY(const auto predictor, cost::make_predictor(command.predictor, catalog));
    for (const hardware::Machine& machine : dataset.machines) {
      ROOFTILE_CHECK(predictor->check(machine));
    }
    ROOFTILE_TRY(const auto trivial, cost::make_predictor("trivial", catalog));
    ROOFTILE_TRY(const auto neusight, cost::make_predictor("neusight", catalog));
    return calibration::evaluate(dataset, *predictor,
                                 {.trivial = trivial.get(), .neusight = neusight.get()});
  }
  if (!command.predictor.empty() && command.predictor != "rooftile")
    return usage_error("--leave-one-gpu-out refits the predictor \"rooftile\" only",
                       "leave out --predictor; the table has columns for the baselines");
  ROOFTILE_CHECK(check_two_gpus(dataset));
  calibration::FitOptions options = command.fit;
  options.all_gpus = false;
  options.progress = progress_bar("refit");
  ROOFTILE_TRY(const calibration::Fits fits, calibration::fit(dataset, catalog, options));
  options.progress = progress_bar("refit neusight");
  ROOFTILE_TRY(const auto neusight, calibration::fit_neusight(dataset, options, {}));
  return calibration::evaluate_left_out(dataset, fits, &neusight);
}

Status run_evaluate(const EvaluateKernels& command, const Context& context) {
  ROOFTILE_TRY(const study::Session session, context.session());
  const Catalog& catalog = session.catalog();
  ROOFTILE_TRY(calibration::Dataset dataset, calibration::read_datasets(command.files, catalog));
  if (!command.campaign.empty()) {
    ROOFTILE_CHECK(calibration::keep_campaign(command.campaign, dataset));
  }
  ROOFTILE_TRY(const calibration::Evaluation evaluation, evaluation_of(command, dataset, catalog));
  if (command.output.format == "json")
    return emit(command.output, report::evaluation_to_json(evaluation, dataset));
  if (command.output.format == "csv")
    return emit_bare(command.output, report::evaluation_to_csv(evaluation, dataset),
                     evaluation.warnings);
  if (command.output.format == "markdown")
    return emit_bare(command.output, report::evaluation_to_markdown(evaluation),
                     evaluation.warnings);
  return emit(command.output, report::evaluation_to_text(evaluation));
}

struct EvaluateTiles {
  std::vector<std::string> files;
  calibration::FitOptions fit;
  Output output;
};

Status run_evaluate_tiles(const EvaluateTiles& command, const Context& context) {
  ROOFTILE_TRY(const study::Session session, context.session());
  const Catalog& catalog = session.catalog();
  ROOFTILE_TRY(const calibration::Dataset dataset,
               calibration::read_datasets(command.files, catalog));
  calibration::FitOptions options = command.fit;
  options.all_gpus = false;
  options.progress = progress_bar("refit");
  ROOFTILE_TRY(const calibration::Fits fits, calibration::fit(dataset, catalog, options));
  const auto report = calibration::compare_tiles(dataset, fits, {.seed = options.seed});
  if (report.empty())
    return bad_input(command.files.front(),
                     "has no matrix products on two or more GPUs whose kernel names state a tile",
                     "give files with a column \"kernel\" and more than one GPU of a vendor");
  const ProvenanceReport provenance = make_provenance(fits.inputs);
  std::vector<std::string> warnings = calibration::warnings_of(dataset);
  for (std::string& note : replacement_notes(provenance)) warnings.push_back(std::move(note));
  const std::string& format = command.output.format;
  return emit_bare(command.output,
                   format == "json"       ? report::tiles_to_json(report, provenance)
                   : format == "markdown" ? report::tiles_to_markdown(report)
                                          : report::tiles_to_text(report, provenance),
                   warnings);
}

struct EvaluateLabels {
  std::string file, models, predictor;
  bool left_out = false;
  std::vector<std::string> kernels;  ///< measured kernels to refit on
  calibration::FitOptions fit;
  Output output;
};

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
  std::unique_ptr<cost::Predictor> main, trivial, neusight;
  [[nodiscard]] calibration::LabelPredictors view() const {
    return {.main = main.get(), .trivial = trivial.get(), .neusight = neusight.get()};
  }
};

PredictorSet make_set(const cost::learned::Weights& weights,
                      const cost::neusight::Weights& neusight) {
  PredictorSet set{.main = cost::learned::make_learned(weights),
                   .trivial = cost::learned::make_trivial(weights),
                   .neusight = cost::neusight::make_neusight(neusight)};
  set.neusight->set_constants(weights.constants);
  return set;
}

/// One set per GPU of the data, each fitted without it; GPUs that the data do not show get the one
/// that was fitted on everything.
Result<calibration::PredictorsOf> left_out_predictors(const EvaluateLabels& command,
                                                      const Catalog& catalog) {
  const auto files = command.kernels.empty() ? kernels_beside(command.file) : command.kernels;
  if (files.empty()) {
    return usage_error("--leave-one-gpu-out needs measured kernels to refit on",
                       "name them with --kernels FILE...");
  }
  ROOFTILE_TRY(const calibration::Dataset dataset, calibration::read_datasets(files, catalog));
  ROOFTILE_CHECK(check_two_gpus(dataset));
  calibration::FitOptions options = command.fit;
  options.progress = progress_bar("refit");
  ROOFTILE_TRY(calibration::Fits fits, calibration::fit(dataset, catalog, options));
  options.progress = progress_bar("refit neusight");
  ROOFTILE_TRY(const calibration::NeuSightFits neusight,
               calibration::fit_neusight(dataset, options, {}));
  auto by_gpu = std::make_shared<std::map<std::string, PredictorSet>>();
  // Intervals from the residuals of the GPUs that are not left out.
  const calibration::Evaluation residuals = calibration::evaluate_left_out(dataset, fits, nullptr);
  for (std::uint32_t i = 0; i < fits.without.size(); ++i) {
    cost::learned::Weights& weights = fits.without[i];
    calibration::calibrate_weights(dataset, residuals.cases, i, weights);
    (*by_gpu)[dataset.machines[i].gpu.id] = make_set(weights, neusight.without[i]);
  }
  calibration::calibrate_weights(dataset, residuals.cases, std::nullopt, *fits.all);
  for (const std::string& note : fits.notes) warn("not left out: " + note);
  (*by_gpu)[""] = make_set(*fits.all, *neusight.all);
  return [by_gpu](const hardware::GpuSpec& gpu) {
    const auto it = by_gpu->find(gpu.id);
    return (it != by_gpu->end() ? it : by_gpu->find(""))->second.view();
  };
}

Result<calibration::PredictorsOf> named_predictors(const std::string& name,
                                                   const Catalog& catalog) {
  auto set = std::make_shared<PredictorSet>();
  ROOFTILE_TRY(set->main, cost::make_predictor(name, catalog));
  ROOFTILE_TRY(set->trivial, cost::make_predictor("trivial", catalog));
  ROOFTILE_TRY(set->neusight, cost::make_predictor("neusight", catalog));
  return [set](const hardware::GpuSpec&) { return set->view(); };
}

Status run_evaluate_labels(const EvaluateLabels& command, const Context& context) {
  ROOFTILE_TRY(const study::Session session, context.session());
  const Catalog& catalog = session.catalog();
  if (command.left_out && !command.predictor.empty() && command.predictor != "rooftile") {
    return usage_error("--leave-one-gpu-out refits the predictor \"rooftile\" only",
                       "leave out --predictor; the table has columns for the baselines");
  }
  ROOFTILE_TRY(const calibration::PredictorsOf predictors_of,
               command.left_out ? left_out_predictors(command, catalog)
                                : named_predictors(command.predictor, catalog));
  ROOFTILE_TRY(auto evaluation,
               calibration::evaluate_labels(
                   command.file, command.models, session.catalog(), predictors_of,
                   [&session](const Request& request, const cost::Predictor& predictor) {
                     return session.predict(request, predictor);
                   }));
  evaluation.left_out = command.left_out;
  if (command.output.format == "json")
    return emit(command.output, report::labels_to_json(evaluation));
  if (command.output.format == "csv")
    return emit_bare(command.output, report::labels_to_csv(evaluation), evaluation.warnings);
  if (command.output.format == "markdown")
    return emit_bare(command.output, report::labels_to_markdown(evaluation), evaluation.warnings);
  return emit(command.output, report::labels_to_text(evaluation, terminal().width));
}

}  // namespace

static void add_refit_options(CLI::App& command, calibration::FitOptions& fit) {
  command.add_option("--seed", fit.seed, "seed of the refits")->capture_default_str();
  command.add_option("--threads", fit.threads, "refits that run at the same time")
      ->check(CLI::Range(1, 64))
      ->capture_default_str();
}

static void add_evaluate_labels(CLI::App& evaluate, Context& context) {
  auto options = std::make_shared<EvaluateLabels>();
  CLI::App* command = evaluate.add_subcommand(
      "labels", "whole steps against measured ones, per GPU, model and mode");
  command->add_option("file", options->file, "CSV file of measured steps")->required();
  command->add_option("--models", options->models, "folder with the models' config files")
      ->required();
  command->add_option("--predictor", options->predictor, "name, or folder that fit wrote");
  command->add_flag("--leave-one-gpu-out", options->left_out,
                    "predict each GPU with weights fitted without it");
  command->add_option("--kernels", options->kernels,
                      "measured kernels to refit on (default: nvidia/ and amd/ next to the file)");
  add_refit_options(*command, options->fit);
  add_output_options(*command, options->output, {"text", "json", "csv", "markdown"});
  command->callback([options, &context] {
    run_command(context, options->output, [&] { return run_evaluate_labels(*options, context); });
  });
}

struct EvaluateTraffic {
  calibration::ValidateRequest request;
  Output output;
};

static Status run_evaluate_traffic(const EvaluateTraffic& command, const Context& context) {
  ROOFTILE_TRY(const study::Session session, context.session());
  ROOFTILE_TRY(const auto table, calibration::validate_traffic(command.request, session.catalog(),
                                                               progress_bar("validating")));
  const std::string& format = command.output.format;
  if (format == "json") return emit(command.output, report::validation_to_json(table));
  if (format == "csv") {
    return emit_bare(command.output, report::validation_to_csv(table), table.notes);
  }
  return emit(command.output, report::validation_to_text(table));
}

static void add_evaluate_traffic(CLI::App& evaluate, Context& context) {
  auto options = std::make_shared<EvaluateTraffic>();
  CLI::App* command = evaluate.add_subcommand(
      "traffic", "bytes against counters or simulations; times of convolutions");
  calibration::ValidateRequest& request = options->request;
  command
      ->add_option("file", request.file,
                   "lru_reference.csv, counted bytes of convolutions or products, DeepBench or "
                   "NeuSight conv.csv, or random: random layers against the simulator")
      ->required();
  command->add_option("--count", request.count, "number of random layers")->capture_default_str();
  command->add_option("--seed", request.seed, "seed of the random layers")->capture_default_str();
  CLI::Option* left_out = command->add_flag("--leave-one-gpu-out", request.leave_one_gpu_out,
                                            "measured times: fit the constants without each GPU");
  command
      ->add_option("--fit-with", request.fit_with,
                   "with --leave-one-gpu-out: more files to fit the constants on")
      ->needs(left_out);
  add_output_options(*command, options->output, {"text", "json", "csv"});
  command->callback([options, &context] {
    run_command(context, options->output, [&] { return run_evaluate_traffic(*options, context); });
  });
}

static void add_evaluate_kernels(CLI::App& evaluate, Context& context) {
  auto options = std::make_shared<EvaluateKernels>();
  CLI::App* command = evaluate.add_subcommand(
      "kernels", "kernels, fused layers and collectives against measured ones");
  command->add_option("files", options->files, "CSV files of measured kernels")->required();
  command->add_option("--predictor", options->predictor, "name, or folder that fit wrote");
  command->add_flag("--leave-one-gpu-out", options->left_out,
                    "refit without each GPU of the files and predict that GPU");
  command->add_option("--campaign", options->campaign, "look at the rows of one campaign only");
  add_refit_options(*command, options->fit);
  add_output_options(*command, options->output, {"text", "json", "csv", "markdown"});
  command->callback([options, &context] {
    run_command(context, options->output, [&] { return run_evaluate(*options, context); });
  });
}

static void add_evaluate_tiles(CLI::App& evaluate, Context& context) {
  auto options = std::make_shared<EvaluateTiles>();
  CLI::App* command =
      evaluate.add_subcommand("tiles", "tiles of matrix products against the launched ones");
  command->add_option("files", options->files, "CSV files of measured products")->required();
  add_refit_options(*command, options->fit);
  add_output_options(*command, options->output, {"text", "json", "markdown"});
  command->callback([options, &context] {
    run_command(context, options->output, [&] { return run_evaluate_tiles(*options, context); });
  });
}

void add_evaluate(CLI::App& app, Context& context) {
  CLI::App* command = app.add_subcommand("evaluate", "predictions against measurements");
  command->require_subcommand(1);
  add_evaluate_kernels(*command, context);
  add_evaluate_labels(*command, context);
  add_evaluate_traffic(*command, context);
  add_evaluate_tiles(*command, context);
  add_evaluate_steps(*command, context);
  add_evaluate_nodes(*command, context);
  command->footer(
      "Every table has the mean, median, geometric mean and 90 % quantile of the errors, their "
      "bias, the share of rows inside of the interval, and baselines for comparison. "
      "docs/howto/refit.md lists the layouts it reads.\n"
      "\n"
      "Examples:\n"
      "  rooftile evaluate kernels measured/linear.csv\n"
      "  rooftile evaluate kernels measured/linear.csv --predictor ./my_predictor\n"
      "  rooftile evaluate kernels measured/*.csv --leave-one-gpu-out\n"
      "  rooftile evaluate traffic random --count 100\n"
      "  rooftile evaluate tiles measured/linear.csv measured/bmm.csv\n"
      "  rooftile evaluate labels labels.csv --models models --leave-one-gpu-out --kernels "
      "measured/linear.csv\n"
      "  rooftile evaluate steps steps/cases.csv --leave-one-gpu-out --format markdown\n"
      "  rooftile evaluate nodes labels_per_node.csv --models models\n");
}

}  // namespace rooftile::cli
