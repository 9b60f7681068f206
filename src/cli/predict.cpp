// SPDX-License-Identifier: Apache-2.0
//
// rooftile predict MODEL --gpu GPU: one step of a model on one GPU.
#include <memory>

#include "app/predict.h"
#include "app/predicted_chart.h"
#include "cli/commands.h"
#include "cli/request_options.h"
#include "report/page.h"
#include "report/views.h"

namespace rooftile::cli {

namespace {

struct PredictOptions {
  Request request;
  Output output;
  int top = 15;
};

Status run_predict(const PredictOptions& options, const Context& context) {
  ROOFTILE_TRY(const Catalog catalog, context.catalog());
  ROOFTILE_TRY(const Report report, app::predict(options.request, catalog));
  const Output& output = options.output;
  const std::string& format = output.format;
  if (format == "json") return emit(output, report::to_json(report));
  if (format == "csv") return emit_bare(output, report::to_csv(report), report.warnings);
  if (format == "trace") return emit_bare(output, report::to_chrome_trace(report), report.warnings);
  if (format == "html") {
    ROOFTILE_TRY(const roofline::Chart chart, app::predicted_chart(report, catalog));
    return emit(output, report::predict_to_html(report, chart));
  }
  const Terminal screen = terminal();
  return emit(options.output,
              report::to_text(report, {.color = screen.color && options.output.file.empty(),
                                       .width = screen.width,
                                       .top = options.top}));
}

}  // namespace

void add_predict(CLI::App& app, Context& context) {
  auto options = std::make_shared<PredictOptions>();
  CLI::App* command = app.add_subcommand("predict", "time and memory of one step on one GPU");
  add_request_options(*command, options->request);
  command->add_option("--gpu", options->request.gpu, "catalogue name (rooftile gpus) or JSON file")
      ->required();
  command->add_option("--top", options->top, "operators in the text table")
      ->check(CLI::Range(1, 1000000))
      ->capture_default_str();
  add_output_options(*command, options->output, {"text", "json", "csv", "html", "trace"});
  command->footer(
      "\nExamples:\n"
      "  rooftile predict gpt2-large --gpu h100-sxm --phase train --batch 4 --seq 1024\n"
      "  rooftile predict llama3-8b --gpu l4 --phase decode --context 4096 --dtype bf16\n"
      "  rooftile predict ./config.json --gpu ./my_gpu.json --format json | jq .latency\n"
      "  rooftile predict gpt2-large --gpu h100-sxm -o step.html\n"
      "  rooftile predict resnet50 --gpu v100-sxm2-16gb --batch 64 --format trace -o "
      "step.trace.json\n");
  command->callback([options, &context] {
    run_command(context, options->output, [&] { return run_predict(*options, context); });
  });
}

}  // namespace rooftile::cli
