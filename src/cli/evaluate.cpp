// SPDX-License-Identifier: Apache-2.0
//
// rooftile evaluate kernels FILE...: predictions against measured kernels.
#include <memory>

#include "cli/commands.h"
#include "fit/evaluate.h"
#include "fit/fit.h"
#include "report/evaluation_view.h"

namespace rooftile::cli {

namespace {

struct EvaluateKernels {
  std::vector<std::string> files;
  std::string predictor;
  bool left_out = false;
  fit::FitOptions fit;
  Output output;
};

Result<fit::Evaluation> evaluation_of(const EvaluateKernels& command, const fit::Dataset& dataset,
                                      const Catalog& catalog) {
  if (!command.left_out) {
    ROOFTILE_TRY(const auto predictor, latency::make_predictor(command.predictor, catalog));
    ROOFTILE_TRY(const auto weights, latency::learned::load_weights(catalog, "default"));
    return fit::evaluate(dataset, *predictor, weights);
  }
  if (!command.predictor.empty() && command.predictor != "rooftile")
    return usage_error("--leave-one-gpu-out refits the predictor \"rooftile\" only",
                       "leave out --predictor; the baselines are beside it in the table");
  if (dataset.machines.size() < 2)
    return bad_input(command.files.front(), "holds a single GPU: nothing is left to fit on",
                     "add files with other GPUs");
  fit::FitOptions options = command.fit;
  options.all_gpus = false;
  options.progress = progress_bar("refit");
  ROOFTILE_TRY(const fit::Fits fits, fit::fit(dataset, catalog, options));
  return fit::evaluate_left_out(dataset, fits);
}

Status run_evaluate(const EvaluateKernels& command, const Context& context) {
  ROOFTILE_TRY(const Catalog catalog, context.catalog());
  ROOFTILE_TRY(const fit::Dataset dataset, fit::read_datasets(command.files, catalog));
  ROOFTILE_TRY(const fit::Evaluation evaluation, evaluation_of(command, dataset, catalog));
  if (command.output.format == "json")
    return emit(command.output, report::evaluation_to_json(evaluation, dataset));
  if (command.output.format == "csv")
    return emit(command.output, report::evaluation_to_csv(evaluation, dataset));
  if (command.output.format == "markdown")
    return emit(command.output, report::evaluation_to_markdown(evaluation));
  return emit(command.output, report::evaluation_to_text(evaluation));
}

}  // namespace

static void add_evaluate_kernels(CLI::App& evaluate, Context& context) {
  auto options = std::make_shared<EvaluateKernels>();
  CLI::App* command = evaluate.add_subcommand("kernels", "single kernels, per class and GPU");
  command->add_option("files", options->files, "CSV files of measured kernels")->required();
  command->add_option("--predictor", options->predictor, "name, or folder that fit wrote");
  command->add_flag("--leave-one-gpu-out", options->left_out,
                    "refit without each GPU of the files and predict that GPU");
  command->add_option("--seed", options->fit.seed, "of the refits")->capture_default_str();
  command->add_option("--threads", options->fit.threads)
      ->check(CLI::Range(1, 64))
      ->capture_default_str();
  add_output_options(*command, options->output, {"text", "json", "csv", "markdown"});
  command->callback([options, &context] {
    run_command(context, [&] { return run_evaluate(*options, context); });
  });
}

void add_evaluate(CLI::App& app, Context& context) {
  CLI::App* command = app.add_subcommand("evaluate", "predictions against measurements");
  command->require_subcommand(1);
  add_evaluate_kernels(*command, context);
  command->footer(
      "\nExamples:\n"
      "  rooftile evaluate kernels measured/linear.csv\n"
      "  rooftile evaluate kernels measured/*.csv --leave-one-gpu-out\n");
}

}  // namespace rooftile::cli
