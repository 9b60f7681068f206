// SPDX-License-Identifier: Apache-2.0
//
// rooftile fit DATASET... --out DIR: weights and card of a predictor from measured kernels.
#include <fmt/format.h>

#include <filesystem>
#include <memory>

#include "calibration/evaluate.h"
#include "calibration/fit.h"
#include "calibration/fit_neusight.h"
#include "calibration/inspect.h"
#include "calibration/plausible.h"
#include "cli/commands.h"
#include "cli/evaluate.h"
#include "core/file.h"
#include "core/provenance.h"
#include "report/evaluation_view.h"

namespace rooftile::cli {

namespace {

struct FitCommand {
  std::vector<std::string> files;
  std::string out;
  std::string form = "rooftile";
  std::string campaign;  ///< empty: all
  bool inspect = false;
  calibration::FitOptions options;
};

/// The command as the card quotes it, with the files by their last two path components.
std::string quoted_command(const FitCommand& command) {
  std::string text = "rooftile fit";
  for (const std::string& file : command.files) {
    const std::filesystem::path path(file);
    text += " " + (path.parent_path().filename() / path.filename()).generic_string();
  }
  if (command.form != "rooftile") text += " --form " + command.form;
  if (!command.campaign.empty()) text += " --campaign " + command.campaign;
  return text + fmt::format(" --seed {} --out {}", command.options.seed,
                            std::filesystem::path(command.out).filename().generic_string());
}

constexpr std::string_view kSingleGpu =
    "fitted on a single GPU: nothing could be left out, so errors on other GPUs are not known and "
    "intervals are not calibrated";

std::vector<std::string> notes_of(const FitCommand& command) {
  if (command.options.leave_one_out) return {};
  return {std::string(kSingleGpu)};
}

Status write_result(const FitCommand& command, const std::string& weights,
                    const std::string& card) {
  ROOFTILE_CHECK(write_file_atomic(command.out + "/weights.json", weights));
  return write_file_atomic(command.out + "/card.json", card);
}

/// Fits, writes weights and card, and returns the errors on left-out GPUs; without cases where
/// there is a single GPU and nothing to leave out.
Result<calibration::Evaluation> write_default(const FitCommand& command,
                                              const calibration::Dataset& dataset,
                                              const Catalog& catalog) {
  calibration::FitOptions options = command.options;
  options.command = quoted_command(command);
  ROOFTILE_TRY(calibration::Fits fits, calibration::fit(dataset, catalog, options));
  calibration::Evaluation left_out = command.options.leave_one_out
                                         ? calibration::evaluate_left_out(dataset, fits, nullptr)
                                         : calibration::Evaluation();
  cost::learned::Weights& weights = *fits.all;
  calibration::calibrate_weights(dataset, left_out.cases, std::nullopt, weights);
  std::vector<std::string> notes = notes_of(command);
  notes.insert(notes.end(), fits.notes.begin(), fits.notes.end());
  ROOFTILE_CHECK(write_result(command, to_json(weights),
                              calibration::card_json(dataset,
                                                     {.name = weights.name,
                                                      .features = cost::learned::features_hash(),
                                                      .notes = notes,
                                                      .ranges = weights.ranges,
                                                      .seed = command.options.seed,
                                                      .command = quoted_command(command),
                                                      .provenance = make_provenance(fits.inputs)},
                                                     left_out)));
  return left_out;
}

Result<calibration::Evaluation> write_neusight(const FitCommand& command,
                                               const calibration::Dataset& dataset) {
  const calibration::NeuSightOptions form;
  ROOFTILE_TRY(const calibration::NeuSightFits fits,
               calibration::fit_neusight(dataset, command.options, form));
  calibration::Evaluation left_out = command.options.leave_one_out
                                         ? calibration::evaluate_left_out(dataset, fits)
                                         : calibration::Evaluation();
  std::vector<std::string> notes = calibration::card_notes(form);
  for (std::string& note : notes_of(command)) notes.push_back(std::move(note));
  ROOFTILE_CHECK(
      write_result(command, to_json(*fits.all),
                   calibration::card_json(dataset,
                                          {.name = "neusight",
                                           .features = cost::neusight::features_hash(),
                                           .notes = notes,
                                           .ranges = calibration::inspect(dataset).ranges,
                                           .seed = command.options.seed,
                                           .command = quoted_command(command),
                                           .provenance = make_provenance(inputs_of(dataset))},
                                          left_out)));
  return left_out;
}

Status run_fit(FitCommand command, const Context& context) {
  if (command.form == "stacks") {
    if (command.out.empty())
      return usage_error("rooftile fit needs a folder for its result", "add --out DIR");
    std::error_code failed;
    std::filesystem::create_directories(command.out, failed);
    if (failed) return bad_input(command.out, "cannot be created: " + failed.message());
    return run_fit_stacks({.files = command.files, .command = quoted_command(command)}, command.out,
                          context);
  }
  ROOFTILE_TRY(const study::Session session, context.session());
  const Catalog& catalog = session.catalog();
  ROOFTILE_TRY(calibration::Dataset dataset, calibration::read_datasets(command.files, catalog));
  if (!command.campaign.empty()) {
    ROOFTILE_CHECK(calibration::keep_campaign(command.campaign, dataset));
  }
  const ProvenanceReport provenance = make_provenance(inputs_of(dataset));
  for (const std::string& note : replacement_notes(provenance)) warn(note);
  if (command.inspect)
    return emit({}, report::inspection_to_text(calibration::inspect(dataset), provenance));
  if (command.out.empty())
    return usage_error("rooftile fit needs a folder for its result",
                       "add --out DIR, or --inspect to look at the data only");
  ROOFTILE_CHECK(calibration::check_fittable(dataset));
  for (const std::string& warning : calibration::warnings_of(dataset)) {
    fmt::print(stderr, "warning: {}\n", warning);
  }
  command.options.leave_one_out = dataset.machines.size() > 1;
  std::error_code failed;
  std::filesystem::create_directories(command.out, failed);
  if (failed) return bad_input(command.out, "cannot be created: " + failed.message());
  const std::string checkpoint = command.out + "/checkpoint.json";
  command.options.checkpoint = checkpoint;
  command.options.progress = progress_bar("fit");
  ROOFTILE_TRY(const calibration::Evaluation left_out,
               command.form == "neusight" ? write_neusight(command, dataset)
                                          : write_default(command, dataset, catalog));
  std::filesystem::remove(checkpoint, failed);
  if (!command.options.leave_one_out) {
    warn(kSingleGpu);
    return emit({}, fmt::format("Weights and card are in {}.\n", command.out));
  }
  return emit({}, report::evaluation_to_text(left_out));
}

}  // namespace

void add_fit(CLI::App& app, Context& context) {
  auto options = std::make_shared<FitCommand>();
  CLI::App* command = app.add_subcommand("fit", "make a predictor from measured kernels");
  command->add_option("dataset", options->files, "CSV files of measured kernels")->required();
  command->add_option("--out", options->out, "folder for weights.json and card.json")
      ->type_name("FOLDER");
  command
      ->add_option("--form", options->form,
                   "what to fit: the default forms, the published NeuSight baseline, or what "
                   "software stacks cost (to measured steps and their all-reduces)")
      ->check(CLI::IsMember({"rooftile", "neusight", "stacks"}))
      ->capture_default_str();
  command->add_option("--campaign", options->campaign, "fit on the rows of one campaign only");
  command->add_flag("--inspect", options->inspect,
                    "show rows, GPUs, ranges and suspicious rows; fit nothing");
  command->add_option("--seed", options->options.seed, "seed of the choice of rows")
      ->capture_default_str();
  command->add_option("--threads", options->options.threads, "fits that run at the same time")
      ->check(CLI::Range(1, 64))
      ->capture_default_str();
  command->footer(
      "Writes weights and a card, and prints the error on each GPU when it is left out of "
      "everything: kernels, convolutions, links and host. docs/howto/refit.md lists the layouts it "
      "reads. A fit that was interrupted continues when the same command is run again.\n"
      "\n"
      "Examples:\n"
      "  rooftile fit --inspect measured/linear.csv\n"
      "  rooftile fit measured/*.csv --out my_predictor\n"
      "  rooftile predict gpt2-large --gpu l4 --predictor ./my_predictor\n");
  command->callback(
      [options, &context] { run_command(context, [&] { return run_fit(*options, context); }); });
}

}  // namespace rooftile::cli
