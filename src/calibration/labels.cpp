// SPDX-License-Identifier: Apache-2.0
#include "calibration/labels.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <utility>

#include "calibration/dataset.h"
#include "calibration/plausible.h"
#include "core/error_statistics.h"
#include "core/provenance.h"
#include "core/text.h"

namespace rooftile::calibration {

namespace {

struct LabelRow {
  LabelCase known;  ///< what the file says
  Request request;
  bool modelled = true;  ///< the option has a meaning here
};

/// "", "fusion", "dp4", "tp4", "pp4", "pp4_2" (4 stages, 2 micro-batches); false for others.
bool apply_option(std::string_view option, Request& request) {
  if (option.empty()) return true;
  if (option == "fusion") {
    request.fusion = "compile";
    return true;
  }
  if (option.size() < 3) return false;
  const std::string_view kind = option.substr(0, 2);
  const std::string_view numbers = option.substr(2);
  const std::size_t bar = numbers.find('_');
  const auto ways = parse_int(numbers.substr(0, bar));
  if (!ways) return false;
  if (kind == "dp" && bar == std::string_view::npos) {
    request.dp = *ways;
  } else if (kind == "tp" && bar == std::string_view::npos) {
    request.tp = *ways;
  } else if (kind == "pp") {
    request.pp = *ways;
    if (bar == std::string_view::npos) return true;
    const auto pieces = parse_int(numbers.substr(bar + 1));
    if (!pieces) return false;
    request.microbatches = *pieces;
  } else {
    return false;
  }
  return true;
}

LabelRow label_of(const MeasuredStep& step, const std::string& device, const std::string& models) {
  LabelRow row;
  LabelCase& known = row.known;
  known.device = device;
  known.model = step.model;
  known.mode = step.mode;
  known.option = step.option;
  known.measured_ms = step.measured_ms;
  known.name = fmt::format("{}-{}-{}-{}{}{}", step.model, step.mode, step.sequence, step.batch,
                           step.option.empty() ? "" : "-", step.option);
  known.published_ms = step.published_ms;
  row.request.model = fmt::format("{}/{}.json", models, step.model);
  row.request.gpu = device;
  row.request.sequence = step.sequence;
  row.request.batch = step.batch;
  row.request.dtype = "fp32";
  row.request.stack = "eager";
  row.request.phase = step.mode == "inf" ? "infer" : "train";
  row.modelled = apply_option(step.option, row.request);
  return row;
}

std::vector<ErrorSummary> summaries(const std::vector<LabelCase>& cases) {
  ErrorGroups groups;
  for (const LabelCase& one : cases) {
    std::vector<std::string> published;
    for (const auto& [name, ms] : one.published_ms) published.push_back("published " + name);
    ErrorGroups::Baselines baselines{{"bound", one.bound_ms}};
    if (one.trivial_ms) baselines.emplace_back("trivial", *one.trivial_ms);
    if (one.neusight_ms) baselines.emplace_back("neusight", *one.neusight_ms);
    std::size_t next = 0;
    for (const auto& [name, ms] : one.published_ms) baselines.emplace_back(published[next++], ms);
    const std::string variant = one.option.empty() ? "plain" : one.option;
    for (const std::string& group :
         {std::string("all"), "option/" + variant, "device/" + one.device, "model/" + one.model,
          "mode/" + one.mode, "device/" + one.device + "/" + one.mode}) {
      groups.add(group,
                 {.measured = one.measured_ms,
                  .predicted = one.predicted_ms,
                  .low = one.low_ms,
                  .high = one.high_ms},
                 baselines);
    }
  }
  return groups.summary();
}

std::vector<FusionGain> fusion_gains(const std::vector<LabelCase>& cases) {
  std::vector<FusionGain> gains;
  for (const LabelCase& fused : cases) {
    if (fused.option != "fusion") continue;
    for (const LabelCase& plain : cases) {
      const bool same = plain.option.empty() && plain.device == fused.device &&
                        fused.name == plain.name + "-fusion";
      if (!same) continue;
      gains.push_back({.device = plain.device,
                       .name = plain.name,
                       .measured = plain.measured_ms / fused.measured_ms,
                       .predicted = plain.predicted_ms / fused.predicted_ms});
    }
  }
  return gains;
}

/// What a report says about the files behind it, once for all rows of a model or GPU.
void keep_warnings(const Report& report, const std::string& model, LabelEvaluation& evaluation) {
  std::vector<std::string>& kept = evaluation.warnings;
  for (const std::string& warning : report.warnings) {
    const bool about_model = warning.starts_with("sizes: ");
    if (!about_model && !warning.starts_with("lint: ")) continue;
    std::string text = about_model ? fmt::format("{}: {}", model, warning) : warning;
    if (std::find(kept.begin(), kept.end(), text) == kept.end()) kept.push_back(std::move(text));
  }
}

Status predict_label(const LabelPredictors& predictors, const PredictStep& predict, LabelRow& row,
                     LabelEvaluation& evaluation) {
  LabelCase& one = row.known;
  ROOFTILE_TRY(const Report report, predict(row.request, *predictors.main));
  std::vector<Input>& inputs = evaluation.provenance.inputs;
  add_inputs(report.provenance.inputs, inputs);
  evaluation.predictor = report.predictor;
  keep_warnings(report, one.model, evaluation);
  one.predicted_ms = report.latency.total_ms;
  one.low_ms = report.latency.low_ms;
  one.high_ms = report.latency.high_ms;
  one.bound_ms = report.bound_total_ms;
  one.allocated_bytes = report.memory.activations_bytes;
  for (const auto& [baseline, ms] : {std::pair(predictors.trivial, &one.trivial_ms),
                                     std::pair(predictors.neusight, &one.neusight_ms)}) {
    if (baseline == nullptr) continue;
    ROOFTILE_TRY(const Report beside, predict(row.request, *baseline));
    *ms = beside.latency.total_ms;
    add_inputs(beside.provenance.inputs, inputs);
  }
  return {};
}

/// What is wrong with a row is in the row or in a file that it names; both are said. The command
/// line is not to blame, also where the request that the row makes is refused as one.
tl::unexpected<Error> at_row(Error error, const std::string& row) {
  if (error.code == ErrorCode::Usage) error.code = ErrorCode::BadInput;
  if (error.where.empty()) {
    error.where = row;
  } else {
    error.message = fmt::format("{} (needed by {})", error.message, row);
  }
  return tl::unexpected(std::move(error));
}

/// Milliseconds per byte that an emptied allocator costs, from rows of other GPUs than `device`:
/// the rate with the smallest mean |log(predicted / measured)|.
double allocation_rate(const std::vector<LabelCase>& cases, const std::string& device) {
  constexpr double kMsPerGb = 1e-9, kFinest = 0.05, kMost = 5;
  double best = 0, least = std::numeric_limits<double>::infinity();
  for (double rate = 0; rate <= kMost; rate += kFinest) {
    double sum = 0;
    for (const LabelCase& one : cases) {
      if (one.device == device) continue;
      const double ms = one.predicted_ms + rate * kMsPerGb * one.allocated_bytes;
      sum += std::abs(std::log(ms / one.measured_ms));
    }
    if (sum < least) {
      least = sum;
      best = rate;
    }
  }
  return best * kMsPerGb;
}

void add_protocol(std::vector<LabelCase>& cases) {
  std::map<std::string, double> rates;
  for (const LabelCase& one : cases) {
    if (!rates.contains(one.device)) rates.emplace(one.device, allocation_rate(cases, one.device));
  }
  for (LabelCase& one : cases) {
    one.protocol_ms = rates.at(one.device) * one.allocated_bytes;
    for (double* ms : {&one.predicted_ms, &one.low_ms, &one.high_ms}) *ms += one.protocol_ms;
    for (auto* ms : {&one.trivial_ms, &one.neusight_ms}) {
      if (*ms) **ms += one.protocol_ms;
    }
  }
}

Status check_cases(const LabelEvaluation& evaluation, const std::string& file) {
  if (!evaluation.cases.empty()) return {};
  if (evaluation.skipped.empty()) return bad_input(file, "has no measured steps");
  std::vector<std::string> options;
  for (const auto& [option, rows] : evaluation.skipped) options.push_back(printable(option));
  return bad_input(
      file, fmt::format("no row has an option that is modelled, only {}", fmt::join(options, ", ")),
      "options are empty, fusion, dpN, tpN, ppN and ppN_M");
}

}  // namespace

Result<LabelEvaluation> evaluate_labels(const std::string& file, const std::string& models,
                                        const Catalog& catalog, const PredictorsOf& predictors_of,
                                        const PredictStep& predict, const Progress& progress) {
  std::error_code ignored;
  if (!std::filesystem::is_directory(models, ignored)) {
    return bad_input(models, "is not a folder",
                     "--models names the folder that holds MODEL_NAME.json for each model");
  }
  Dataset dataset;
  ROOFTILE_CHECK(read_dataset(file, catalog, dataset));
  if (!dataset.counted.empty() || !dataset.simulated.empty())
    return bad_input(file, "holds bytes, not whole steps",
                     "rooftile evaluate traffic FILE reads it");
  if (dataset.steps.empty() && !dataset.empty())
    return bad_input(file, "holds kernels, not whole steps", "rooftile evaluate kernels reads it");
  std::vector<TimedRow> times;
  LabelEvaluation evaluation;
  evaluation.unread_columns = dataset.unread_columns;
  for (const MeasuredStep& step : dataset.steps) {
    LabelRow row = label_of(step, dataset.devices[step.gpu], models);
    if (!row.modelled) {
      evaluation.skipped[step.option] += 1;
      continue;
    }
    const double done =
        static_cast<double>(evaluation.cases.size()) / static_cast<double>(dataset.steps.size());
    if (progress && !progress({.fraction = done, .note = row.known.name}))
      return bad_input({}, "the evaluation was stopped");
    const Status predicted =
        predict_label(predictors_of(dataset.machines[step.gpu].gpu), predict, row, evaluation);
    if (!predicted) return at_row(predicted.error(), fmt::format("{}:{}", file, step.line));
    times.push_back(
        {.measured = row.known.measured_ms, .bound = row.known.bound_ms, .line = step.line});
    evaluation.cases.push_back(std::move(row.known));
  }
  ROOFTILE_CHECK(check_cases(evaluation, file));
  if (auto warning = check_times(file, times).warning()) {
    evaluation.warnings.push_back(std::move(*warning));
  }
  add_protocol(evaluation.cases);
  evaluation.fusion = fusion_gains(evaluation.cases);
  evaluation.summary = summaries(evaluation.cases);
  set_provenance(std::vector<Input>(evaluation.provenance.inputs), evaluation);
  return evaluation;
}

}  // namespace rooftile::calibration
