// SPDX-License-Identifier: Apache-2.0
//
// rooftile predict MODEL --gpu GPU: one step of a model on one GPU.
// rooftile predict --replay REPORT.json: the same once more, compared with the report.
#include <fmt/format.h>

#include <memory>

#include "cli/commands.h"
#include "cli/help.h"
#include "cli/request_options.h"
#include "core/number_of.h"
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
    return usage_error(fmt::format("--replay takes {} from the report", name),
                       fmt::format("remove {}", name));
  }
  return {};
}

Status run_replay(const CLI::App& command, const PredictOptions& options, const Context& context) {
  ROOFTILE_CHECK(check_replay_alone(command));
  const Output& output = options.output;
  if (output.draws() || output.traces()) {
    return usage_error(fmt::format("--replay cannot be written as {}", output.format),
                       "with --replay, --format is text, json, csv or markdown");
  }
  ROOFTILE_TRY(const study::RecordedReport recorded, study::load_report(options.replay));
  ROOFTILE_TRY(Catalog catalog, study::replay_catalog(recorded, context.catalog_folders));
  ROOFTILE_TRY(const report::ReplayReport result,
               study::replay(recorded, study::Session(std::move(catalog))));
  ROOFTILE_CHECK(emit(output, report::describe(result)));
  if (result.reproduced()) return {};
  if (result.now_ms == result.then_ms)
    return bad_input(options.replay,
                     fmt::format("the prediction is not reproduced: the total is, but not {}",
                                 number_of(result.differences.size(), "other value")));
  return bad_input(options.replay,
                   fmt::format("the prediction is not reproduced: {} ms then, {} ms now",
                               result.then_ms, result.now_ms));
}

Status run_predict(const PredictOptions& options, const Context& context) {
  if (options.request.model.empty()) {
    return usage_error("no model is given",
                       "rooftile predict MODEL --gpu GPU; rooftile models lists the built-in ones");
  }
  if (options.request.gpu.empty()) {
    return usage_error("--gpu is required", "rooftile gpus lists the names");
  }
  ROOFTILE_CHECK(check_one_gpu("predict", options.request.gpu));
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
  command->add_option("--gpu", options->request.gpu, "catalogue name (rooftile gpus) or JSON file")
      ->group(kMachineGroup);
  command
      ->add_option("--replay", options->replay,
                   "predict again what this JSON report predicted, and compare; no other options")
      ->type_name("FILE");
  command->add_option("--top", options->top, "operators in the text table")
      ->group(kOutputGroup)
      ->check(CLI::Range(1, 1000000))
      ->capture_default_str();
  add_output_options(*command, options->output, report::Offers{.charts = true, .timeline = true});
  command->footer(
      "--phase infer runs the model once over --batch sequences of --seq tokens; train adds the "
      "loss, the backward pass, gradient accumulation and, with --optimizer, the update; prefill "
      "fills the KV cache; decode makes one token per sequence with --context tokens in the "
      "cache.\n"
      "\n"
      "Every time comes with its lower bound, an 80 % interval and its limiter: the resource that "
      "would take longest on its own. A missing or null key of a config.json takes the library's "
      "default, with a warning that names it; your own files are linted whenever they are used.\n"
      "\n"
      "On several GPUs, --batch counts the sequences of all of them together, and memory is that "
      "of the fullest GPU.\n"
      "\n"
      "Every report names the program and the files it was made from, with their SHA-256; --replay "
      "reproduces its number or says what has changed since.\n"
      "\n"
      "Examples:\n"
      "  rooftile predict gpt2-large --gpu h100-sxm --phase train --batch 4 --seq 1k\n"
      "  rooftile predict llama3-8b --gpu l4 --phase decode --context 4096 --dtype bf16\n"
      "  rooftile predict ./config.json --gpu ./my_gpu.json --format json | jq .latency\n"
      "  rooftile predict gpt2-large --gpu h100-sxm -o step.html\n"
      "  rooftile predict resnet50 --gpu v100-sxm2-16gb --batch 64 --format trace -o "
      "step.trace.json\n"
      "  rooftile predict gpt3-2.7b --gpu h100-sxm --phase train --batch 16 --dtype bf16 --dp 2 "
      "--tp 4 --system dgx-h100\n"
      "  rooftile predict --replay report.json\n");
  command->callback([command, options, &context] {
    run_command(context, options->output, [&] {
      return options->replay.empty() ? run_predict(*options, context)
                                     : run_replay(*command, *options, context);
    });
  });
}

}  // namespace rooftile::cli
