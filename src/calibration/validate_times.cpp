// SPDX-License-Identifier: Apache-2.0
#include "calibration/validate_times.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "calibration/conv_fit.h"
#include "calibration/plausible.h"
#include "core/provenance.h"
#include "cost/learned/learned.h"

namespace rooftile::calibration {

namespace {

using cost::learned::Weights;

/// The shipped weights without what was measured on one GPU, but for the forms of products, which
/// have seen its rows among others'.
Weights without(Weights weights, const std::string& id) {
  weights.constants.streaming.measured.erase(id);
  for (auto& [model, device] : weights.models) {
    for (auto* product : {&device.gemm, &device.bmm}) {
      if (!*product) continue;
      (*product)->plateau.measured.erase(id);
      for (auto& [chip, boards] : (*product)->plateau.boards) boards.erase(id);
    }
  }
  return weights;
}

Result<ConvPredictors> make_predictors(const Campaigns& data, const std::vector<CampaignGpu>& gpus,
                                       const TimesRequest& request, const Weights& shipped,
                                       const std::string& file, const Progress& progress) {
  if (!request.leave_one_gpu_out)
    return ConvPredictors(gpus.size(), cost::learned::make_learned(shipped));
  ConvPredictors predictors;
  if (data.gpus() < 2) {
    return bad_input(file, "has one GPU, so none can be left out",
                     "--fit-with FILE adds rows of others");
  }
  for (std::size_t i = 0; i < gpus.size(); ++i) {
    const double done = static_cast<double>(i) / static_cast<double>(gpus.size());
    if (progress && !progress({.fraction = done, .note = "without " + gpus[i].name})) {
      return bad_input({}, "the validation was stopped", {});
    }
    const std::string& id = gpus[i].machine.gpu.id;
    const Weights others = without(shipped, id);
    const auto weights_with = [&others](const ConvolutionForm& form) {
      Weights weights = others;
      weights.constants = with_form(std::move(weights.constants), form);
      return weights;
    };
    predictors.push_back(
        cost::learned::make_learned(weights_with(fit_convolutions(data, weights_with, id))));
  }
  return predictors;
}

/// Which rows the constants have seen is known per GPU: the file may hold any rows of it.
std::string constants_note(const std::vector<CampaignGpu>& gpus,
                           const std::vector<std::string>& fitted_on, bool left_out) {
  if (left_out) {
    return "The constants were fitted without the GPU of each row; the form of the products that "
           "some convolutions launch is the shipped one, without the level of that GPU.";
  }
  std::vector<std::string> seen;
  std::vector<std::string> unseen;
  for (const CampaignGpu& gpu : gpus) {
    const bool known =
        std::find(fitted_on.begin(), fitted_on.end(), gpu.machine.gpu.id) != fitted_on.end();
    (known ? seen : unseen).push_back(gpu.name);
  }
  std::string note = "The constants are the shipped ones.";
  if (!seen.empty()) {
    note += fmt::format(
        " They were fitted on the published rows of {}: where these are the same rows, this is the "
        "error of a fit.",
        fmt::join(seen, ", "));
  }
  if (!unseen.empty()) note += fmt::format(" They saw no row of {}.", fmt::join(unseen, ", "));
  return note;
}

ValidationTable deepbench_table(const DeepBench& data, const ConvPredictors& predictors) {
  const std::vector<DeepBenchErrors> errors = score(data, predictors, {});
  ValidationTable table;
  table.title = "DeepBench convolutions, FP32: geometric error (predicted / measured)";
  table.columns = {"GPU",
                   "forward, implicit GEMM",
                   "n",
                   "left out",
                   "within 1.3",
                   "forward, all rows, choice",
                   "backward data",
                   "backward filter"};
  for (std::size_t i = 0; i < errors.size(); ++i) {
    const DeepBenchErrors& e = errors[i];
    table.rows.push_back({data.gpus[i].name, e.implicit.cell(),
                          ValidationCell::count(e.implicit.count), ValidationCell::count(e.dropped),
                          e.implicit.inside_cell(), e.forward.cell(), e.data.cell(),
                          e.filter.cell()});
  }
  table.notes = {
      "Left out: rows labelled implicit GEMM above 0.97 of the FP32 peak at boost clock.",
      "\"Choice\", backward data and backward filter take the model's fastest algorithm. 15 us per",
      "call are added for the host."};
  return table;
}

/// How often the right algorithm was chosen.
ValidationCell right_cell(const NeuSightErrors& e) {
  const double percent = 100.0 * static_cast<double>(e.right) / static_cast<double>(e.all.count);
  return {fmt::format("{:.0f} %", percent), {percent}};
}

ValidationTable neusight_table(const NeuSight& data, const ConvPredictors& predictors) {
  const NeuSightScore result = score(data, predictors, 1, {});
  ValidationTable table;
  table.title = "NeuSight convolutions, FP32 3x3 forward: geometric error (predicted / measured)";
  table.columns = {"GPU",
                   "implicit n",
                   "drift removed",
                   "flat 280 us",
                   "others' drift",
                   "all n",
                   "drift removed, choice",
                   "flat 280 us, choice",
                   "others' drift, choice",
                   "algorithm right",
                   "drift first/last us"};
  for (std::size_t i = 0; i < data.gpus.size(); ++i) {
    const NeuSightErrors& e = result.errors[i];
    table.rows.push_back({data.gpus[i].name, ValidationCell::count(e.implicit.count),
                          e.implicit.cell(), e.implicit_flat.cell(), e.implicit_elsewhere.cell(),
                          ValidationCell::count(e.all.count), e.all.cell(), e.all_flat.cell(),
                          e.all_elsewhere.cell(), right_cell(e), result.drift.first_and_last(i)});
  }
  table.notes = {
      "Every row of this campaign carries host time that grows with the row number. \"Drift",
      "removed\" takes the median residual of 250 rows of the GPU itself, of the half of them that",
      "the row is not in; \"others' drift\" that of the other GPUs, \"flat\" one constant (chosen "
      "on",
      "these rows). The predictor knows none."};
  if (data.gpus.size() == 1) {
    table.notes.emplace_back("There is one GPU, so nobody else's drift is known (\"-\").");
  }
  return table;
}

}  // namespace

Result<ValidationTable> validate_times(Dataset dataset, const TimesRequest& request,
                                       const Catalog& catalog, const Progress& progress) {
  const std::string file = dataset.files.front();
  const Campaigns scored = campaigns_of(dataset);
  const bool deepbench = !scored.deepbench.rows.empty();
  if (!deepbench && scored.neusight.rows.empty()) {
    return bad_input(
        file, "has no bytes and no convolutions that can be scored",
        "of DeepBench, the FP32 rows can be; rooftile evaluate kernels reads other kernels");
  }
  std::vector<std::string> warnings = warnings_of(dataset);
  for (const std::string& more : request.fit_with) {
    ROOFTILE_CHECK(read_dataset(more, catalog, dataset));
  }
  const Campaigns data = campaigns_of(dataset);
  const std::vector<CampaignGpu>& gpus = deepbench ? scored.deepbench.gpus : scored.neusight.gpus;
  ROOFTILE_TRY(const auto weights, cost::learned::read_weights_file(catalog, "default"));
  ROOFTILE_TRY(const auto shipped, cost::learned::parse_weights(weights.content, weights.name));
  ROOFTILE_TRY(const ConvPredictors predictors,
               make_predictors(data, gpus, request, shipped, file, progress));
  ValidationTable table = deepbench ? deepbench_table(scored.deepbench, predictors)
                                    : neusight_table(scored.neusight, predictors);
  table.notes.push_back(
      constants_note(gpus, shipped.origins.at("convolution").gpus, request.leave_one_gpu_out));
  for (const std::string& warning : warnings) table.notes.push_back("warning: " + warning);
  std::vector<Input> inputs{make_input("predictor", shipped.name, weights)};
  add_inputs(inputs_of(dataset), inputs);
  table.provenance = make_provenance(inputs);
  table.predictor = "rooftile";
  table.left_out = request.leave_one_gpu_out;
  return table;
}

}  // namespace rooftile::calibration
