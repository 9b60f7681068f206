// SPDX-License-Identifier: Apache-2.0
//
// rooftile evaluate steps FILE.csv: whole steps of models, one or many GPUs.
// rooftile evaluate nodes FILE.csv: our kernels against the traced nodes of steps.
#include <fmt/format.h>

#include <memory>

#include "calibration/nodes.h"
#include "calibration/steps.h"
#include "cli/commands.h"
#include "cli/evaluate.h"
#include "cost/stack_costs.h"
#include "report/steps_view.h"

namespace rooftile::cli {

namespace {

struct EvaluateSteps {
  study::StepsRequest request;
  Output output;
};

Status run_evaluate_steps(const EvaluateSteps& command, const Context& context) {
  ROOFTILE_TRY(const study::Session session, context.session());
  ROOFTILE_TRY(const auto evaluation,
               session.evaluate_steps(command.request, progress_bar("steps")));
  const std::string& format = command.output.format;
  if (format == "json") return emit(command.output, report::steps_to_json(evaluation));
  if (format == "csv")
    return emit_bare(command.output, report::steps_to_csv(evaluation), evaluation.warnings);
  if (format == "markdown")
    return emit_bare(command.output, report::steps_to_markdown(evaluation), evaluation.warnings);
  return emit(command.output, report::steps_to_text(evaluation, terminal().width));
}

struct EvaluateNodes {
  study::NodesRequest request;
  Output output;
};

Status run_evaluate_nodes(const EvaluateNodes& command, const Context& context) {
  ROOFTILE_TRY(const study::Session session, context.session());
  ROOFTILE_TRY(const auto evaluation,
               session.evaluate_nodes(command.request, progress_bar("nodes")));
  ROOFTILE_CHECK(emit(command.output, command.output.format == "json"
                                          ? report::nodes_to_json(evaluation)
                                          : report::nodes_to_text(evaluation, terminal().width)));
  if (evaluation.missing.empty()) return {};
  return bad_input(command.request.file,
                   fmt::format("{} measured nodes above 1 % of their step have no kernel",
                               evaluation.missing.size()),
                   "the graph of the model lacks them");
}

}  // namespace

Status run_fit_stacks(const study::FitStacksRequest& request, const std::string& folder,
                      const Context& context) {
  ROOFTILE_TRY(const study::Session session, context.session());
  ROOFTILE_TRY(const cost::StackCosts costs,
               session.fit_stacks(request, progress_bar("fit stacks")));
  Output output;
  output.file = folder + "/stacks.json";
  output.format = "json";
  return emit_bare(output, cost::to_json(costs), {});
}

void add_evaluate_nodes(CLI::App& evaluate, Context& context) {
  auto options = std::make_shared<EvaluateNodes>();
  CLI::App* command = evaluate.add_subcommand(
      "nodes", "kernels of our graphs against traced nodes; fails where one is missing");
  command->add_option("file", options->request.file, "CSV file of traced nodes")->required();
  command->add_option("--models", options->request.models, "folder with the models' config files")
      ->required();
  command->add_option("--predictor", options->request.predictor, "name, or folder that fit wrote");
  add_output_options(*command, options->output, {"text", "json"});
  command->callback([options, &context] {
    run_command(context, options->output, [&] { return run_evaluate_nodes(*options, context); });
  });
}

void add_evaluate_steps(CLI::App& evaluate, Context& context) {
  auto options = std::make_shared<EvaluateSteps>();
  CLI::App* command = evaluate.add_subcommand(
      "steps", "training, prefill, decode, requests and serving, per GPU, framework and phase");
  command->add_option("file", options->request.file, "CSV file of measured steps")->required();
  command->add_option("--predictor", options->request.predictor, "name, or folder that fit wrote");
  command->add_flag("--leave-one-gpu-out", options->request.left_out,
                    "refit the costs of the software stacks without each GPU");
  add_output_options(*command, options->output, {"text", "json", "csv", "markdown"});
  command->callback([options, &context] {
    run_command(context, options->output, [&] { return run_evaluate_steps(*options, context); });
  });
}

}  // namespace rooftile::cli
