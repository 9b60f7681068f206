// SPDX-License-Identifier: Apache-2.0
//
// rooftile calibrate MEASURED... --gpu GPU -o machine.json: the measured tier.
// rooftile calibrate --gpu GPU --suggest N [--script bench.py]: what to measure.
#include <fmt/chrono.h>
#include <fmt/format.h>

#include <chrono>
#include <memory>

#include "cli/commands.h"
#include "cli/evaluate.h"
#include "cli/help.h"
#include "cli/request_options.h"
#include "cli/sizes.h"
#include "core/file.h"
#include "core/text.h"
#include "core/units.h"
#include "report/describe.h"
#include "rooftile/calibrate.h"
#include "study/evaluate.h"

namespace rooftile::cli {

namespace {

struct CalibrateOptions {
  CalibrateRequest request;
  Request step;                       ///< --step and its options
  std::optional<std::string> timed;   ///< --measured
  std::optional<std::int64_t> count;  ///< --suggest
  std::string script;
  std::string machine_file;  ///< -o
  Output output;
};

std::string today() {
  return fmt::format("{:%Y-%m-%d}", fmt::gmtime(std::chrono::system_clock::now()));
}

Status run_suggest(const CalibrateOptions& options, const study::Session& session) {
  SuggestRequest request{.gpu = options.request.gpu, .count = options.count.value_or(30)};
  ROOFTILE_TRY(const SuggestReport report, session.suggest(request));
  if (!options.script.empty()) ROOFTILE_CHECK(write_file_atomic(options.script, report.script));
  Output output = options.output;
  output.file = options.machine_file;  // there is no machine file yet: -o is for the list
  ROOFTILE_CHECK(settle_format(output));
  return emit(output, report::describe(report));
}

Status add_timed_step(CalibrateOptions& options) {
  if (options.step.model.empty() != !options.timed) {
    return usage_error("--step and --measured belong together",
                       "--step llama3.1-8b --phase prefill --batch 8 --seq 2048 --measured 342ms");
  }
  if (!options.timed) return {};
  const auto time = parse_quantity<Seconds>(*options.timed);
  if (!time || !(time->base() > 0))
    return usage_error(fmt::format("--measured {} is not a time", *options.timed),
                       "a number with its unit: 342ms, 1.2 s");
  options.request.steps.push_back({.step = options.step, .measured_ms = time->base() * 1e3});
  return {};
}

Status run_calibrate(CalibrateOptions options, const Context& context) {
  ROOFTILE_TRY(const study::Session session, context.session());
  ROOFTILE_CHECK(check_one_gpu("calibrate", options.request.gpu));
  ROOFTILE_CHECK(add_timed_step(options));
  const bool measured = !options.request.files.empty() || !options.request.steps.empty();
  if (options.count || !options.script.empty()) {
    if (measured)
      return usage_error("--suggest and --script come before measuring",
                         "leave out the files, or --suggest and --script");
    return run_suggest(options, session);
  }
  const std::vector<std::string> json{"json"};
  ROOFTILE_CHECK(format_by_ending("calibrate", options.machine_file, json));
  if (options.machine_file.empty() && !options.output.chosen)
    warn("nothing is saved; -o machine.json keeps the result");
  options.request.date = today();
  ROOFTILE_TRY(const CalibrateReport report, session.calibrate(options.request));
  if (!options.machine_file.empty())
    ROOFTILE_CHECK(write_file_atomic(options.machine_file, report.machine_file));
  return emit(options.output, report::describe(report));
}

}  // namespace

void add_calibrate(CLI::App& app, Context& context) {
  auto options = std::make_shared<CalibrateOptions>();
  CLI::App* command =
      app.add_subcommand("calibrate", "fit a machine file to a minute of measurements on a GPU");
  CalibrateRequest& request = options->request;
  add_request_options(*command, options->step);
  for (const char* name : {"model", "--machine", "--predictor"})
    command->remove_option(command->get_option(name));
  command->add_option("measured", request.files,
                      "timed kernels (CSV), profiler exports, machine files, collectives, steps");
  command->add_option("--gpu", request.gpu, "catalogue name (rooftile gpus) or JSON file")
      ->group(kMachineGroup)
      ->required();
  command
      ->add_option("--step", options->step.model, "a model whose step was timed, with --measured")
      ->type_name("MODEL")
      ->group(kStepGroup);
  command->add_option("--measured", options->timed, "the time of that step, e.g. 342ms")
      ->type_name("TIME")
      ->group(kStepGroup);
  command
      ->add_option("--suggest", options->count,
                   "fit nothing: list the N kernels most worth measuring (default: 30)")
      ->type_name("N");
  command
      ->add_option("--script", options->script,
                   "write a PyTorch program that times the suggested kernels")
      ->type_name("FILE");
  add_output_options(*command, options->output, report::Offers{.charts = true});
  command->remove_option(command->get_option("--output"));  // here it names the machine file
  command
      ->add_option("-o,--output", options->machine_file,
                   "machine file to write (JSON); with --suggest, the list")
      ->group(kOutputGroup)
      ->type_name("FILE");
  command->footer(
      "Time about thirty kernels on the GPU, or one step of your own model, and give the result to "
      "every other command with --machine machine.json. It fits the clock under load, the "
      "attained bandwidths, the time of a launch and of the host, the level of each family of "
      "kernels and how it depends on the shape, and the start-up time and bandwidth of links. A "
      "few rows change little: every number has a prior, the table says how much was learned about "
      "it, and a number that the rows say nothing about stays as it was. Intervals follow the "
      "rows.\n"
      "\n"
      "Files are recognised from their content: kernel,shape,dtype,latency_ms (what --script "
      "prints), the layouts of docs/howto/refit.md, traces of the PyTorch profiler with "
      "record_shapes=True, exports of Nsight and rocprof, machine files of characterize, tables of "
      "collectives, measured steps.\n"
      "\n"
      "Examples:\n"
      "  rooftile calibrate --gpu h100-sxm --suggest 30 --script bench.py\n"
      "  python3 bench.py > measured.csv     # on the GPU\n"
      "  rooftile calibrate measured.csv --gpu h100-sxm -o machine.json\n"
      "  rooftile calibrate --gpu h100-sxm --step llama3.1-8b --phase prefill --batch 8 --seq 2048 "
      "--measured 342ms -o machine.json\n"
      "  rooftile predict llama3.1-8b --gpu h100-sxm --machine machine.json\n");
  command->callback([options, &context] {
    run_command(context, options->output, [&] { return run_calibrate(*options, context); });
  });
}

void add_evaluate_calibrate(CLI::App& evaluate, Context& context) {
  struct Options {
    study::CalibrateEvaluationRequest request;
    Output output;
  };
  auto options = std::make_shared<Options>();
  study::CalibrateEvaluationRequest& request = options->request;
  CLI::App* command = evaluate.add_subcommand(
      "calibrate", "what a few measured rows gain on a GPU that was left out");
  command->add_option("files", request.files, "CSV files of measured kernels, or one of steps")
      ->required();
  command->add_option("--rows", request.rows, "random rows per GPU, class and campaign")
      ->capture_default_str();
  command->add_option("--draws", request.draws, "how often they are drawn")->capture_default_str();
  command->add_option("--seed", request.seed, "seed of refits and draws")->capture_default_str();
  command->add_option("--threads", request.threads, "refits that run at the same time")
      ->check(CLI::Range(1, 64))
      ->capture_default_str();
  add_output_options(*command, options->output, report::Offers{.charts = true});
  command->footer(
      "Calibrates with random rows of a GPU that the predictor has not seen, and predicts its "
      "other rows; with a file of steps, calibrates with one step and predicts the others.\n"
      "\n"
      "Examples:\n"
      "  rooftile evaluate calibrate measured/*.csv --rows 30 --draws 10\n"
      "  rooftile evaluate calibrate cases.csv\n");
  command->callback([options, &context] {
    run_command(context, options->output, [&]() -> Status {
      ROOFTILE_TRY(const study::Session session, context.session());
      ROOFTILE_TRY(const study::CalibrateEvaluation evaluation,
                   session.evaluate_calibrate(options->request, progress_bar("evaluate")));
      return emit(options->output,
                  report::describe_gain(
                      evaluation.rows, evaluation.draws, evaluation.summary,
                      {.provenance = evaluation.provenance, .warnings = evaluation.warnings}));
    });
  });
}

}  // namespace rooftile::cli
