// SPDX-License-Identifier: Apache-2.0
//
// rooftile evaluate kernels FILE..., labels FILE --models DIR, traffic FILE, tiles FILE...:
// predictions against measured kernels and collectives, measured steps of whole models, bytes that
// were counted or simulated, and tiles that were launched.
#include <memory>

#include "cli/commands.h"
#include "cli/evaluate.h"
#include "report/describe.h"
#include "rooftile/evaluate.h"
#include "study/evaluate.h"
#include "study/session.h"

namespace rooftile::cli {

namespace {

struct EvaluateCommand {
  EvaluateRequest request;
  Output output;
};

Status run_evaluate_kernels(const EvaluateCommand& command, const study::Session& session) {
  ROOFTILE_TRY(const study::KernelEvaluation kernels,
               session.evaluate_kernels(command.request, progress_bar("evaluate")));
  return emit(command.output, report::describe(kernels.evaluation, kernels.dataset));
}

Status run_evaluate_labels(const EvaluateCommand& command, const study::Session& session) {
  ROOFTILE_TRY(const auto evaluation,
               session.evaluate_labels(command.request, progress_bar("evaluate")));
  return emit(command.output, report::describe(evaluation));
}

Status run_evaluate_traffic(const EvaluateCommand& command, const study::Session& session) {
  ROOFTILE_TRY(const auto table,
               session.evaluate_traffic(command.request, progress_bar("evaluate")));
  return emit(command.output, report::describe(table));
}

Status run_evaluate_tiles(const EvaluateCommand& command, const study::Session& session) {
  ROOFTILE_TRY(const study::TileEvaluation tiles,
               session.evaluate_tiles(command.request, progress_bar("evaluate")));
  return emit(command.output, report::describe(tiles.groups, tiles.provenance, tiles.warnings));
}

/// One subject of `rooftile evaluate`: adds its sub-command, which runs `run`.
using RunSubject = Status (*)(const EvaluateCommand&, const study::Session&);
struct Subject {
  CLI::App& app;
  EvaluateCommand& options;
};
Subject add_subject(CLI::App& evaluate, Context& context, const std::string& name,
                    const std::string& about, RunSubject run) {
  auto options = std::make_shared<EvaluateCommand>();
  options->request.subject = name;
  CLI::App* command = evaluate.add_subcommand(name, about);
  command->callback([options, &context, run] {
    run_command(context, options->output, [&]() -> Status {
      ROOFTILE_TRY(const study::Session session, context.session());
      return run(*options, session);
    });
  });
  return {.app = *command, .options = *options};
}

void add_refit_options(CLI::App& command, EvaluateRequest& request) {
  command.add_option("--seed", request.seed, "seed of the refits")->capture_default_str();
  command.add_option("--threads", request.threads, "refits that run at the same time")
      ->check(CLI::Range(1, 64))
      ->capture_default_str();
}

/// `option` takes one file into `files`.
CLI::Option* add_file(CLI::App& command, std::vector<std::string>& files,
                      const std::string& about) {
  return command.add_option("file", files, about)->required()->expected(1);
}

void add_evaluate_kernels(CLI::App& evaluate, Context& context) {
  const Subject subject = add_subject(evaluate, context, "kernels",
                                      "kernels, fused layers and collectives against measured ones",
                                      run_evaluate_kernels);
  EvaluateRequest& request = subject.options.request;
  subject.app.add_option("files", request.files, "CSV files of measured kernels")->required();
  subject.app.add_option("--predictor", request.predictor, "name, or folder that fit wrote");
  subject.app.add_flag("--leave-one-gpu-out", request.leave_one_gpu_out,
                       "refit without each GPU of the files and predict that GPU");
  subject.app.add_option("--campaign", request.campaign, "look at the rows of one campaign only");
  add_refit_options(subject.app, request);
  add_output_options(subject.app, subject.options.output, report::Offers{.charts = true});
  subject.app.footer(
      "Examples:\n"
      "  rooftile evaluate kernels measured/linear.csv\n"
      "  rooftile evaluate kernels measured/*.csv --leave-one-gpu-out\n");
}

void add_evaluate_labels(CLI::App& evaluate, Context& context) {
  const Subject subject = add_subject(evaluate, context, "labels",
                                      "whole steps against measured ones, per GPU, model and mode",
                                      run_evaluate_labels);
  EvaluateRequest& request = subject.options.request;
  add_file(subject.app, request.files, "CSV file of measured steps");
  subject.app.add_option("--models", request.models, "folder with the models' config files")
      ->required();
  subject.app.add_option("--predictor", request.predictor, "name, or folder that fit wrote");
  subject.app.add_flag("--leave-one-gpu-out", request.leave_one_gpu_out,
                       "predict each GPU with weights fitted without it");
  subject.app.add_option(
      "--kernels", request.fit_with,
      "measured kernels to refit on (default: nvidia/ and amd/ next to the file)");
  add_refit_options(subject.app, request);
  add_output_options(subject.app, subject.options.output, report::Offers{.charts = true});
  subject.app.footer(
      "Example:\n"
      "  rooftile evaluate labels labels.csv --models models --leave-one-gpu-out --kernels "
      "measured/linear.csv\n");
}

void add_evaluate_traffic(CLI::App& evaluate, Context& context) {
  const Subject subject = add_subject(
      evaluate, context, "traffic", "bytes against counters or simulations; times of convolutions",
      run_evaluate_traffic);
  EvaluateRequest& request = subject.options.request;
  add_file(subject.app, request.files,
           "lru_reference.csv, counted bytes of convolutions or products, DeepBench or "
           "NeuSight conv.csv, or random: random layers against the simulator");
  subject.app.add_option("--count", request.count, "number of random layers")
      ->capture_default_str();
  subject.app.add_option("--seed", request.seed, "seed of the random layers")
      ->capture_default_str();
  CLI::Option* left_out =
      subject.app.add_flag("--leave-one-gpu-out", request.leave_one_gpu_out,
                           "measured times: fit the constants without each GPU");
  subject.app
      .add_option("--fit-with", request.fit_with,
                  "with --leave-one-gpu-out: more files to fit the constants on")
      ->needs(left_out);
  add_output_options(subject.app, subject.options.output, report::Offers{.charts = true});
  subject.app.footer(
      "Examples:\n"
      "  rooftile evaluate traffic random --count 100\n"
      "  rooftile evaluate traffic deepbench/conv.csv --leave-one-gpu-out\n");
}

void add_evaluate_tiles(CLI::App& evaluate, Context& context) {
  const Subject subject =
      add_subject(evaluate, context, "tiles", "tiles of matrix products against the launched ones",
                  run_evaluate_tiles);
  EvaluateRequest& request = subject.options.request;
  subject.app.add_option("files", request.files, "CSV files of measured products")->required();
  add_refit_options(subject.app, request);
  add_output_options(subject.app, subject.options.output, report::Offers{.charts = true});
  subject.app.footer(
      "Example:\n"
      "  rooftile evaluate tiles measured/linear.csv measured/bmm.csv\n");
}

}  // namespace

void add_evaluate(CLI::App& app, Context& context) {
  CLI::App* command = app.add_subcommand("evaluate", "predictions against measurements");
  command->require_subcommand(1);
  add_evaluate_kernels(*command, context);
  add_evaluate_labels(*command, context);
  add_evaluate_traffic(*command, context);
  add_evaluate_tiles(*command, context);
  add_evaluate_steps(*command, context);
  add_evaluate_nodes(*command, context);
  add_evaluate_calibrate(*command, context);
  command->footer(
      "Every table has the mean, median, geometric mean and 90 % quantile of the errors, their "
      "bias, the share of rows inside the interval, and baselines for comparison. "
      "docs/howto/refit.md lists the layouts it reads.\n"
      "\n"
      "Examples:\n"
      "  rooftile evaluate kernels measured/linear.csv\n"
      "  rooftile evaluate kernels measured/linear.csv --predictor ./my_predictor\n"
      "  rooftile evaluate kernels measured/*.csv --leave-one-gpu-out\n"
      "  rooftile evaluate calibrate measured/*.csv --rows 30\n"
      "  rooftile evaluate traffic random --count 100\n"
      "  rooftile evaluate tiles measured/linear.csv measured/bmm.csv\n"
      "  rooftile evaluate labels labels.csv --models models --leave-one-gpu-out --kernels "
      "measured/linear.csv\n");
}

}  // namespace rooftile::cli
