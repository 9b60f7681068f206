// SPDX-License-Identifier: Apache-2.0
//
// rooftile compare MODEL --gpus A,B,C: the same step on several GPUs, one row each.
#include <fmt/format.h>

#include <memory>

#include "cli/commands.h"
#include "cli/help.h"
#include "cli/request_options.h"
#include "report/views.h"

namespace rooftile::cli {

namespace {

struct CompareOptions {
  Request request;
  std::vector<std::string> gpus;
  Output output;
};

Status run_compare(const CompareOptions& options, const Context& context) {
  ROOFTILE_TRY(const study::Session session, context.session());
  ROOFTILE_TRY(const std::vector<Report> reports, session.compare(options.request, options.gpus));
  if (options.output.format == "json")
    return emit(options.output, report::compare_to_json(reports));
  if (options.output.format == "csv") {
    std::vector<std::string> warnings;
    for (const Report& report : reports) {
      for (const std::string& warning : report.warnings) {
        warnings.push_back(fmt::format("{}: {}", report.gpu_name, warning));
      }
    }
    return emit_bare(options.output, report::compare_to_csv(reports), warnings);
  }
  const Terminal screen = terminal();
  return emit(options.output, report::compare_to_text(
                                  reports, {.color = screen.color && options.output.file.empty(),
                                            .width = screen.width}));
}

}  // namespace

void add_compare(CLI::App& app, Context& context) {
  auto options = std::make_shared<CompareOptions>();
  CLI::App* command = app.add_subcommand("compare", "the same step on several GPUs, one row each");
  add_request_options(*command, options->request);
  add_list_option(*command, "--gpus", options->gpus, "names or JSON files, separated by commas")
      ->group(kMachineGroup)
      ->required();
  add_output_options(*command, options->output, {"text", "json", "csv"});
  command->footer(
      "The options are those of predict, and each row is what predict says about that GPU.\n"
      "\n"
      "Examples:\n"
      "  rooftile compare llama3-8b --gpus l4,a100-sxm-80gb,h100-sxm,mi300x --phase decode "
      "--context 4k --dtype bf16\n"
      "  rooftile compare gpt2-large --gpus v100-pcie-32gb,a100-pcie-40gb,h100-sxm,mi300x --phase "
      "train\n");
  command->callback([options, &context] {
    run_command(context, options->output, [&] { return run_compare(*options, context); });
  });
}

}  // namespace rooftile::cli
