// SPDX-License-Identifier: Apache-2.0
//
// rooftile evaluate steps FILE.csv: whole steps of models, one or many GPUs.
// rooftile evaluate nodes FILE.csv: our kernels against the traced nodes of steps.
// rooftile fit FILE... --form stacks: what software stacks cost.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <memory>

#include "calibration/nodes.h"
#include "calibration/steps.h"
#include "cli/evaluate.h"
#include "core/file.h"
#include "core/number_of.h"
#include "cost/stack_costs.h"
#include "report/describe.h"

namespace rooftile::cli {

namespace {

struct EvaluateSteps {
  study::StepsRequest request;
  Output output;
};

struct EvaluateNodes {
  study::NodesRequest request;
  Output output;
};

Status run_evaluate_steps(const EvaluateSteps& command, const Context& context) {
  ROOFTILE_TRY(const study::Session session, context.session());
  ROOFTILE_TRY(const auto evaluation,
               session.evaluate_steps(command.request, progress_bar("steps")));
  return emit(command.output, report::describe(evaluation));
}

Status run_evaluate_nodes(const EvaluateNodes& command, const Context& context) {
  ROOFTILE_TRY(const study::Session session, context.session());
  ROOFTILE_TRY(const auto evaluation,
               session.evaluate_nodes(command.request, progress_bar("nodes")));
  ROOFTILE_CHECK(emit(command.output, report::describe(evaluation)));
  if (evaluation.missing.empty()) return {};
  return bad_input(command.request.file,
                   fmt::format("{} above 1 % of the step without a kernel",
                               number_of(evaluation.missing.size(), "measured node")),
                   "the graph of the model lacks them");
}

}  // namespace

Status run_fit_stacks(const FitRequest& request, const std::string& folder,
                      const study::Session& session) {
  std::vector<std::string> names;
  for (const std::string& file : request.files) names.push_back(file.substr(file.rfind('/') + 1));
  study::FitStacksRequest stacks;
  stacks.files = request.files;
  stacks.command = fmt::format("rooftile fit {} --form stacks", fmt::join(names, " "));
  ROOFTILE_TRY(const cost::StackCosts costs,
               session.fit_stacks(stacks, progress_bar("fit stacks")));
  ROOFTILE_CHECK(write_file_atomic(folder + "/stacks.json", cost::to_json(costs)));
  return emit({}, fmt::format("The costs of the stacks are in {}/stacks.json.\n", folder));
}

void add_evaluate_nodes(CLI::App& evaluate, Context& context) {
  auto options = std::make_shared<EvaluateNodes>();
  CLI::App* command = evaluate.add_subcommand(
      "nodes", "kernels of our graphs against traced nodes; fails if one is missing");
  command->add_option("file", options->request.file, "CSV file of traced nodes")->required();
  command->add_option("--models", options->request.models,
                      "folder with the models' config files (default: models next to the file)");
  command->add_option("--predictor", options->request.predictor, "name, or folder that fit wrote");
  add_output_options(*command, options->output, report::Offers{.charts = true});
  command->footer(
      "Every traced node that takes more than 1 % of its step needs a kernel of our graph.\n"
      "\n"
      "Example:\n"
      "  rooftile evaluate nodes labels_per_node.csv --models models\n");
  command->callback([options, &context] {
    run_command(context, options->output, [&] { return run_evaluate_nodes(*options, context); });
  });
}

void add_evaluate_steps(CLI::App& evaluate, Context& context) {
  auto options = std::make_shared<EvaluateSteps>();
  CLI::App* command = evaluate.add_subcommand(
      "steps", "steps of training, prefill and decode, requests and serving against measured ones");
  command->add_option("file", options->request.file, "CSV file of measured steps")->required();
  command->add_option("--predictor", options->request.predictor, "name, or folder that fit wrote");
  command->add_flag("--leave-one-gpu-out", options->request.left_out,
                    "refit the costs of the software stacks without each GPU");
  add_output_options(*command, options->output, report::Offers{.charts = true});
  command->footer(
      "Rows that cannot be predicted are counted by reason; they are not scored.\n"
      "\n"
      "Examples:\n"
      "  rooftile evaluate steps cases.csv\n"
      "  rooftile evaluate steps cases.csv --leave-one-gpu-out --format markdown\n");
  command->callback([options, &context] {
    run_command(context, options->output, [&] { return run_evaluate_steps(*options, context); });
  });
}

}  // namespace rooftile::cli
