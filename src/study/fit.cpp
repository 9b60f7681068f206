// SPDX-License-Identifier: Apache-2.0
//
// Weights and card of a predictor from measured kernels.
#include "study/fit.h"

#include <fmt/format.h>

#include <filesystem>
#include <utility>

#include "calibration/fit.h"
#include "calibration/fit_neusight.h"
#include "calibration/intervals.h"
#include "calibration/plausible.h"
#include "core/provenance.h"
#include "core/text.h"
#include "study/session.h"

namespace rooftile::study {

namespace {

/// The command as the card quotes it, with the files by their last two path components.
std::string quoted_command(const FitRequest& request) {
  std::string text = "rooftile fit";
  for (const std::string& file : request.files) {
    const std::filesystem::path path(file);
    text += " " + (path.parent_path().filename() / path.filename()).generic_string();
  }
  if (request.form != "rooftile") text += " --form " + request.form;
  if (!request.campaign.empty()) text += " --campaign " + request.campaign;
  return text + fmt::format(" --seed {} --out {}", request.seed, request.name);
}

constexpr std::string_view kSingleGpu =
    "fitted on a single GPU: nothing could be left out, so errors on other GPUs are unknown and "
    "intervals are uncalibrated";

Result<calibration::Dataset> read_request(const FitRequest& request, const Catalog& catalog) {
  ROOFTILE_TRY(calibration::Dataset dataset, calibration::read_datasets(request.files, catalog));
  if (!request.campaign.empty()) {
    ROOFTILE_CHECK(calibration::keep_campaign(request.campaign, dataset));
  }
  return dataset;
}

std::vector<std::string> with_single_gpu(std::vector<std::string> notes, bool leaves_out) {
  if (!leaves_out) notes.emplace_back(kSingleGpu);
  return notes;
}

Status fit_default(const FitRequest& request, const calibration::FitOptions& options,
                   const Catalog& catalog, FitResult& result) {
  ROOFTILE_TRY(calibration::Fits fits, calibration::fit(result.dataset, catalog, options));
  if (result.leaves_out)
    result.left_out = calibration::evaluate_left_out(result.dataset, fits, nullptr);
  cost::learned::Weights& weights = *fits.all;
  calibration::calibrate_weights(result.dataset, result.left_out.cases, std::nullopt, weights);
  std::vector<std::string> notes = with_single_gpu({}, result.leaves_out);
  notes.insert(notes.end(), fits.notes.begin(), fits.notes.end());
  result.weights = to_json(weights);
  result.card = calibration::card_json(result.dataset,
                                       {.name = weights.name,
                                        .features = cost::learned::features_hash(),
                                        .notes = notes,
                                        .ranges = weights.ranges,
                                        .seed = request.seed,
                                        .command = options.command,
                                        .provenance = make_provenance(fits.inputs)},
                                       result.left_out);
  return {};
}

Status fit_rival(const FitRequest& request, const calibration::FitOptions& options,
                 FitResult& result) {
  const calibration::NeuSightOptions form;
  ROOFTILE_TRY(const calibration::NeuSightFits fits,
               calibration::fit_neusight(result.dataset, options, form));
  if (result.leaves_out) result.left_out = calibration::evaluate_left_out(result.dataset, fits);
  result.weights = to_json(*fits.all);
  result.card = calibration::card_json(
      result.dataset,
      {.name = "neusight",
       .features = cost::neusight::features_hash(),
       .notes = with_single_gpu(calibration::card_notes(form), result.leaves_out),
       .ranges = calibration::inspect(result.dataset).ranges,
       .seed = request.seed,
       .command = options.command,
       .provenance = make_provenance(inputs_of(result.dataset))},
      result.left_out);
  return {};
}

}  // namespace

Result<InspectResult> Session::inspect(const FitRequest& request) const {
  ROOFTILE_TRY(const calibration::Dataset dataset, read_request(request, catalog()));
  return InspectResult{.inspection = calibration::inspect(dataset),
                       .provenance = make_provenance(inputs_of(dataset))};
}

Result<FitResult> Session::fit(const FitRequest& request, const Progress& progress) const {
  if (request.form != "rooftile" && request.form != "neusight")
    return usage_error(fmt::format("unknown form \"{}\"", printable(request.form)),
                       "the forms are rooftile and neusight");
  FitResult result;
  ROOFTILE_TRY(result.dataset, read_request(request, catalog()));
  ROOFTILE_CHECK(calibration::check_fittable(result.dataset));
  result.leaves_out = result.dataset.machines.size() > 1;
  result.warnings = replacement_notes(make_provenance(inputs_of(result.dataset)));
  for (std::string& warning : calibration::warnings_of(result.dataset))
    result.warnings.push_back(std::move(warning));
  result.warnings = with_single_gpu(std::move(result.warnings), result.leaves_out);
  if (progress) {
    for (const std::string& warning : result.warnings)
      progress({.fraction = 0, .note = {}, .notice = "warning: " + warning});
  }
  calibration::FitOptions options{.seed = request.seed, .threads = request.threads};
  options.leave_one_out = result.leaves_out;
  options.command = quoted_command(request);
  options.checkpoint = request.checkpoint;
  options.progress = progress;
  ROOFTILE_CHECK(request.form == "neusight" ? fit_rival(request, options, result)
                                            : fit_default(request, options, catalog(), result));
  return result;
}

}  // namespace rooftile::study
