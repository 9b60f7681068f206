// SPDX-License-Identifier: Apache-2.0
//
// `rooftile evaluate kernels` and `labels`: predicted times next to measured ones.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "calibration/evaluate.h"
#include "calibration/labels.h"
#include "core/number_of.h"
#include "core/provenance.h"
#include "report/describe.h"
#include "report/errors.h"
#include "report/interval.h"

namespace rooftile::report {

namespace {

using nlohmann::ordered_json;

constexpr std::string_view kLegend =
    "Errors are mean |predicted / measured - 1|, geo exp(mean |ln(predicted / measured)|) - 1; "
    "inside is the share of rows in the stated 80 % interval; trivial is roofline / u + c and "
    "neusight the published formulation, both fitted on the same rows as ours; * where the trivial "
    "line is nearer than ours.";

/// Every measured row, for data formats; `more` are fields that only some files have.
Table cases_table(const std::vector<std::string>& names) {
  std::vector<Column> columns;
  for (const std::string& name : names) columns.push_back({.title = name, .fields = {{name}}});
  return {.kind = "case", .rows = {.at = "/cases"}, .columns = std::move(columns), .shown = false};
}

/// What both have: heading, picture, table, notes.
void add_errors(const std::vector<ErrorSummary>& summary, const std::vector<std::string>& heading,
                Document& document) {
  document.sections.emplace_back(Note{.lines = heading});
  if (!summary.empty()) document.sections.emplace_back(Figure(errors_chart(summary)));
  document.sections.emplace_back(errors_table(summary));
  document.sections.emplace_back(Note{.lines = {std::string(kLegend)}});
  document.verdict = errors_verdict(summary);
}

std::vector<std::string> heading_of(const calibration::Evaluation& evaluation) {
  std::vector<std::string> lines{accuracy_heading(evaluation.predictor, evaluation.left_out)};
  if (evaluation.skipped > 0)
    lines.push_back(fmt::format("Skipped, as their dtypes or collectives are not modelled: {}.",
                                number_of(evaluation.skipped, "row")));
  return lines;
}

std::vector<std::string> heading_of(const calibration::LabelEvaluation& evaluation) {
  std::vector<std::string> lines{accuracy_heading(evaluation.predictor, evaluation.left_out)};
  for (const auto& [option, rows] : evaluation.skipped)
    lines.push_back(fmt::format("Rows with option {} are not modelled: {}.", option, rows));
  for (const std::string& column : evaluation.unread_columns)
    lines.push_back(fmt::format("Column {} is ignored.", column));
  return lines;
}

ordered_json kernels_json(const calibration::Evaluation& evaluation,
                          const calibration::Dataset* dataset) {
  ordered_json json{{"schema", 1},
                    {"predictor", evaluation.predictor},
                    {"leave_one_gpu_out", evaluation.left_out},
                    {"skipped", evaluation.skipped},
                    {"cases", ordered_json::array()},
                    {"summary", errors_json(evaluation.summary)}};
  const auto add = [&](const calibration::CaseFacts& facts, const calibration::Case& c) {
    ordered_json row{{"device", facts.device},
                     {"case", facts.name},
                     {"class", facts.kind},
                     {"campaign", facts.campaign},
                     {"measured_ms", c.measured * 1e3},
                     {"predicted_ms", c.predicted * 1e3},
                     {"low_ms", c.low * 1e3},
                     {"high_ms", c.high * 1e3},
                     {"bound_ms", c.bound * 1e3},
                     {"error", c.error()},
                     {"extrapolated", c.extrapolated}};
    if (c.neusight) row["neusight_ms"] = *c.neusight * 1e3;
    json["cases"].push_back(std::move(row));
  };
  if (dataset != nullptr) for_each_case(evaluation, *dataset, add);
  json["provenance"] = provenance_json(evaluation.provenance);
  json["warnings"] = evaluation.warnings;
  return json;
}

ordered_json labels_json(const calibration::LabelEvaluation& evaluation) {
  ordered_json json{{"schema", 1},
                    {"predictor", evaluation.predictor},
                    {"leave_one_gpu_out", evaluation.left_out},
                    {"cases", ordered_json::array()},
                    {"summary", errors_json(evaluation.summary)},
                    {"fusion", ordered_json::array()},
                    {"skipped", evaluation.skipped}};
  for (const calibration::LabelCase& one : evaluation.cases) {
    json["cases"].push_back({{"device", one.device},
                             {"case", one.name},
                             {"measured_ms", one.measured_ms},
                             {"predicted_ms", one.predicted_ms},
                             {"low_ms", one.low_ms},
                             {"high_ms", one.high_ms},
                             {"bound_ms", one.bound_ms},
                             {"trivial_ms", number_or_null(one.trivial_ms)},
                             {"neusight_ms", number_or_null(one.neusight_ms)},
                             {"error", one.error()},
                             {"published_ms", one.published_ms}});
  }
  for (const calibration::FusionGain& gain : evaluation.fusion) {
    json["fusion"].push_back({{"device", gain.device},
                              {"case", gain.name},
                              {"measured_gain", gain.measured},
                              {"predicted_gain", gain.predicted}});
  }
  json["provenance"] = provenance_json(evaluation.provenance);
  json["warnings"] = evaluation.warnings;
  return json;
}

Document describe_kernels(const calibration::Evaluation& evaluation,
                          const calibration::Dataset* dataset) {
  Document document;
  document.title = "Accuracy: kernels";
  document.data = kernels_json(evaluation, dataset);
  add_errors(evaluation.summary, heading_of(evaluation), document);
  document.sections.emplace_back(
      cases_table({"device", "case", "class", "campaign", "measured_ms", "predicted_ms", "low_ms",
                   "high_ms", "error", "bound_ms", "extrapolated", "neusight_ms"}));
  document.warnings = warnings_of(evaluation.warnings);
  document.provenance = evaluation.provenance;
  return document;
}

}  // namespace

Document describe(const calibration::Evaluation& evaluation, const calibration::Dataset& dataset) {
  return describe_kernels(evaluation, &dataset);
}

Document describe(const calibration::Evaluation& evaluation) {
  return describe_kernels(evaluation, nullptr);
}

Document describe(const calibration::LabelEvaluation& evaluation) {
  Document document;
  document.title = "Accuracy: steps";
  document.data = labels_json(evaluation);
  add_errors(evaluation.summary, heading_of(evaluation), document);
  document.sections.emplace_back(Table{
      .kind = "fusion",
      .title = "fusion gain: the step without over the step with fused vector operators",
      .rows = {.at = "/fusion"},
      .columns = {{.title = "case", .fields = {{"case"}}, .rank = Rank::Identity},
                  {.title = "device", .fields = {{"device"}}},
                  {.title = "measured", .fields = {{"measured_gain"}}, .unit = Unit::Factor},
                  {.title = "predicted", .fields = {{"predicted_gain"}}, .unit = Unit::Factor}},
      .data = false});
  document.sections.emplace_back(
      cases_table({"device", "case", "measured_ms", "predicted_ms", "low_ms", "high_ms", "bound_ms",
                   "error", "trivial_ms", "neusight_ms"}));
  document.warnings = warnings_of(evaluation.warnings);
  document.provenance = evaluation.provenance;
  return document;
}

}  // namespace rooftile::report
