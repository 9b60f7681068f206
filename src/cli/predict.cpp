// SPDX-License-Identifier: Apache-2.0
//
// rooftile predict MODEL --gpu GPU: one step of a model on one GPU.
// rooftile predict --replay REPORT.json: the same once more, compared with the report.
#include <fmt/format.h>

#include <memory>

#include "cli/commands.h"
#include "cli/request_options.h"
#include "report/describe.h"
#include "roofline/chart.h"
#include "rooftile/report.h"
#include "study/replay.h"

namespace rooftile::cli {

namespace {

struct PredictOptions {
  Request request;
  Output output;
  int top = 15;
  std::string replay;
};

/// The report says what to predict: anything else on the command line would contradict it.
Status check_replay_alone(const CLI::App& command) {
  for (const CLI::Option* option : command.get_options()) {
    const std::string name = option->get_name();
    if (option->count() == 0 || name == "--replay" || name == "--format" || name == "--output") {
      continue;
    }
    return usage_error(fmt::format("--replay takes everything from the report, {} too", name),
                       fmt::format("remove {}", name));
  }
  return {};
}

Status run_replay(const CLI::App& command, const PredictOptions& options, const Context& context) {
  ROOFTILE_CHECK(check_replay_alone(command));
  const Output& output = options.output;
  if (output.draws() || output.traces()) {
    return usage_error(fmt::format("--replay has no {}", output.format),
                       "it compares numbers: leave out --format");
  }
  ROOFTILE_TRY(const study::RecordedReport recorded, study::load_report(options.replay));
  ROOFTILE_TRY(Catalog catalog, study::replay_catalog(recorded, context.catalog_folders));
  ROOFTILE_TRY(const report::ReplayReport result,
               study::replay(recorded, study::Session(std::move(catalog))));
  ROOFTILE_CHECK(emit(output, report::describe(result)));
  if (result.reproduced()) return {};
  return bad_input(options.replay,
                   fmt::format("the prediction is not reproduced: {} ms then, {} ms now",
                               result.then_ms, result.now_ms));
}

Status run_predict(const PredictOptions& options, const Context& context) {
  if (options.request.model.empty()) {
    return usage_error("model is required", "see rooftile predict --help");
  }
  if (options.request.gpu.empty()) {
    return usage_error("--gpu is required", "rooftile gpus lists the names");
  }
  ROOFTILE_TRY(const study::Session session, context.session());
  ROOFTILE_TRY(const Report report, session.predict(options.request));
  report::Document document =
      report::describe(report, {.top = static_cast<std::size_t>(options.top)});
  if (options.output.draws()) {
    ROOFTILE_TRY(const roofline::Chart chart, session.chart(report));
    report::add_chart(chart, document);
  }
  return emit(options.output, document);
}

}  // namespace

void add_predict(CLI::App& app, Context& context) {
  auto options = std::make_shared<PredictOptions>();
  CLI::App* command = app.add_subcommand("predict", "time and memory of one step on one GPU");
  add_request_options(*command, options->request);
  command->get_option("model")->required(false);  // --replay has its own
  command->add_option("--gpu", options->request.gpu, "catalogue name (rooftile gpus) or JSON file");
  command->add_option("--replay", options->replay,
                      "predict what this JSON report predicted, and compare; no other options");
  command->add_option("--top", options->top, "operators in the text table")
      ->check(CLI::Range(1, 1000000))
      ->capture_default_str();
  add_output_options(*command, options->output, report::Offers{.charts = true, .timeline = true});
  command->footer(
      "\nExamples:\n"
      "  rooftile predict gpt2-large --gpu h100-sxm --phase train --batch 4 --seq 1024\n"
      "  rooftile predict llama3-8b --gpu l4 --phase decode --context 4096 --dtype bf16\n"
      "  rooftile predict ./config.json --gpu ./my_gpu.json --format json | jq .latency\n"
      "  rooftile predict gpt2-large --gpu h100-sxm -o step.html\n"
      "  rooftile predict resnet50 --gpu v100-sxm2-16gb --batch 64 --format trace -o "
      "step.trace.json\n"
      "  rooftile predict --replay report.json\n");
  command->callback([command, options, &context] {
    run_command(context, options->output, [&] {
      return options->replay.empty() ? run_predict(*options, context)
                                     : run_replay(*command, *options, context);
    });
  });
}

}  // namespace rooftile::cli
