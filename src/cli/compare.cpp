// SPDX-License-Identifier: Apache-2.0
//
// rooftile compare MODEL --gpus A,B,C: the same step on several GPUs, one row each.
#include <memory>
#include <span>

#include "cli/commands.h"
#include "cli/help.h"
#include "cli/request_options.h"
#include "report/describe.h"
#include "rooftile/report.h"

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
  return emit(options.output, report::describe(std::span<const Report>(reports)));
}

}  // namespace

void add_compare(CLI::App& app, Context& context) {
  auto options = std::make_shared<CompareOptions>();
  CLI::App* command = app.add_subcommand("compare", "the same step on several GPUs, one row each");
  add_request_options(*command, options->request);
  add_list_option(*command, "--gpus", options->gpus, "names or JSON files, separated by commas")
      ->group(kMachineGroup)
      ->required();
  add_output_options(*command, options->output, report::Offers{.charts = true});
  command->footer(
      "The options are those of predict; each row is what predict says about that GPU.\n"
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
