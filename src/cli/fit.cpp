// SPDX-License-Identifier: Apache-2.0
//
// rooftile fit DATASET... --out DIR: weights and card of a predictor from measured kernels.
#include <fmt/format.h>

#include <filesystem>
#include <memory>

#include "cli/commands.h"
#include "cli/evaluate.h"
#include "core/file.h"
#include "report/describe.h"
#include "rooftile/fit.h"
#include "study/fit.h"

namespace rooftile::cli {

namespace {

struct FitCommand {
  FitRequest request;
  std::string out;
  bool inspect = false;
  Output output;
};

Status inspect_data(const FitCommand& command, const study::Session& session) {
  ROOFTILE_TRY(const study::InspectResult result, session.inspect(command.request));
  return emit(command.output, report::describe(result.inspection, result.provenance));
}

Status run_fit(FitCommand command, const Context& context) {
  ROOFTILE_TRY(const study::Session session, context.session());
  if (command.inspect) return inspect_data(command, session);
  if (command.out.empty())
    return usage_error("rooftile fit needs a folder for its result",
                       "add --out DIR, or --inspect to look at the data only");
  std::error_code failed;
  std::filesystem::create_directories(command.out, failed);
  if (failed) return bad_input(command.out, "cannot be created: " + failed.message());
  if (command.request.form == "stacks")
    return run_fit_stacks(command.request, command.out, session);
  command.request.name = std::filesystem::path(command.out).filename().generic_string();
  command.request.checkpoint = command.out + "/checkpoint.json";
  ROOFTILE_TRY(const study::FitResult result, session.fit(command.request, progress_bar("fit")));
  ROOFTILE_CHECK(write_file_atomic(command.out + "/weights.json", result.weights));
  ROOFTILE_CHECK(write_file_atomic(command.out + "/card.json", result.card));
  std::filesystem::remove(*command.request.checkpoint, failed);
  if (!result.leaves_out)
    return emit({}, fmt::format("Weights and card are in {}.\n", command.out));
  return emit(command.output, report::describe(result.left_out));
}

}  // namespace

void add_fit(CLI::App& app, Context& context) {
  auto options = std::make_shared<FitCommand>();
  CLI::App* command = app.add_subcommand("fit", "make a predictor from measured kernels");
  command->add_option("dataset", options->request.files, "CSV files of measured kernels")
      ->required();
  command->add_option("--out", options->out, "folder for weights.json and card.json")
      ->type_name("FOLDER");
  command
      ->add_option(
          "--form", options->request.form,
          "what to fit: the default forms, the published NeuSight baseline, or the costs of "
          "software stacks (to measured steps and their all-reduces)")
      ->check(CLI::IsMember({"rooftile", "neusight", "stacks"}))
      ->capture_default_str();
  command->add_option("--campaign", options->request.campaign,
                      "fit on the rows of one campaign only");
  command->add_flag("--inspect", options->inspect,
                    "show rows, GPUs, ranges and suspicious rows without fitting");
  command->add_option("--seed", options->request.seed, "seed of the choice of rows")
      ->capture_default_str();
  command->add_option("--threads", options->request.threads, "fits that run at the same time")
      ->check(CLI::Range(1, 64))
      ->capture_default_str();
  add_output_options(*command, options->output, report::Offers{});
  command->footer(
      "Writes weights and a card, and prints the error on each GPU when it is left out of "
      "everything: kernels, convolutions, links and host. --format and -o are about those errors, "
      "or about what --inspect shows. docs/howto/refit.md lists the layouts it reads. A fit that "
      "was interrupted continues when the same command is run again.\n"
      "\n"
      "Examples:\n"
      "  rooftile fit --inspect measured/linear.csv\n"
      "  rooftile fit measured/*.csv --out my_predictor\n"
      "  rooftile predict gpt2-large --gpu l4 --predictor ./my_predictor\n");
  command->callback([options, &context] {
    run_command(context, options->output, [&] { return run_fit(*options, context); });
  });
}

}  // namespace rooftile::cli
