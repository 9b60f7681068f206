// SPDX-License-Identifier: Apache-2.0
//
// rooftile fit DATASET... --out DIR: weights and card of a predictor from measured kernels.
#include <fmt/format.h>

#include <filesystem>
#include <memory>

#include "cli/commands.h"
#include "core/file.h"
#include "fit/evaluate.h"
#include "fit/fit.h"
#include "report/evaluation_view.h"

namespace rooftile::cli {

namespace {

struct FitCommand {
  std::vector<std::string> files;
  std::string out;
  bool inspect = false;
  fit::FitOptions options;
};

/// The command as the card quotes it, with the files by their last two path components.
std::string quoted_command(const FitCommand& command) {
  std::string text = "rooftile fit";
  for (const std::string& file : command.files) {
    const std::filesystem::path path(file);
    text += " " + (path.parent_path().filename() / path.filename()).generic_string();
  }
  return text + fmt::format(" --seed {} --out {}", command.options.seed,
                            std::filesystem::path(command.out).filename().generic_string());
}

Status run_fit(FitCommand command, const Context& context) {
  ROOFTILE_TRY(const Catalog catalog, context.catalog());
  ROOFTILE_TRY(const fit::Dataset dataset, fit::read_datasets(command.files, catalog));
  if (command.inspect) return emit({}, report::inspection_to_text(fit::inspect(dataset)));
  if (command.out.empty())
    return usage_error("rooftile fit needs a folder for its result",
                       "add --out DIR, or --inspect to look at the data only");
  std::error_code failed;
  std::filesystem::create_directories(command.out, failed);
  if (failed) return bad_input(command.out, "cannot be created: " + failed.message());
  const std::string checkpoint = command.out + "/checkpoint.json";
  command.options.checkpoint = checkpoint;
  command.options.progress = progress_bar("fit");
  ROOFTILE_TRY(fit::Fits fits, fit::fit(dataset, catalog, command.options));
  const fit::Evaluation left_out = fit::evaluate_left_out(dataset, fits);
  latency::learned::Weights& weights = *fits.all;
  weights.intervals = fit::calibrate(dataset, left_out.cases, std::nullopt);
  ROOFTILE_CHECK(write_file_atomic(command.out + "/weights.json", to_json(weights)));
  ROOFTILE_CHECK(write_file_atomic(
      command.out + "/card.json",
      fit::card_json(dataset, weights, left_out,
                     {.seed = command.options.seed, .command = quoted_command(command)})));
  std::filesystem::remove(checkpoint, failed);
  return emit({}, report::evaluation_to_text(left_out));
}

}  // namespace

void add_fit(CLI::App& app, Context& context) {
  auto options = std::make_shared<FitCommand>();
  CLI::App* command = app.add_subcommand("fit", "make a predictor from measured kernels");
  command->add_option("dataset", options->files, "CSV files of measured kernels")->required();
  command->add_option("--out", options->out, "folder for weights.json and card.json");
  command->add_flag("--inspect", options->inspect,
                    "show rows, GPUs, ranges and suspicious rows; fit nothing");
  command->add_option("--seed", options->options.seed, "of the choice of rows")
      ->capture_default_str();
  command->add_option("--threads", options->options.threads)
      ->check(CLI::Range(1, 64))
      ->capture_default_str();
  command->footer(
      "\nA fit that was interrupted continues when the same command is run again.\n"
      "\nExamples:\n"
      "  rooftile fit --inspect measured/linear.csv\n"
      "  rooftile fit measured/*.csv --out my_predictor\n"
      "  rooftile predict gpt2-large --gpu l4 --predictor ./my_predictor\n");
  command->callback(
      [options, &context] { run_command(context, [&] { return run_fit(*options, context); }); });
}

}  // namespace rooftile::cli
