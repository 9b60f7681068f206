// SPDX-License-Identifier: Apache-2.0
//
// `rooftile evaluate steps` and `nodes`: whole steps and traced nodes next to measured ones.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "calibration/nodes.h"
#include "calibration/steps.h"
#include "core/number_of.h"
#include "core/provenance.h"
#include "report/describe.h"
#include "report/errors.h"
#include "report/interval.h"

namespace rooftile::report {

namespace {

using calibration::StepCase;
using nlohmann::ordered_json;

constexpr std::string_view kStepLegend =
    "Errors are mean |predicted / measured - 1| of the step; inside is the share of rows in the "
    "stated 80 % interval; trivial is the bound / 0.7.";

ordered_json step_case_json(const StepCase& one) {
  ordered_json json{{"case", one.row.name},
                    {"device", one.row.device},
                    {"source", one.row.source},
                    {"framework", one.row.framework},
                    {"stack", one.row.request.step.stack},
                    {"phase", one.row.phase},
                    {"measured_ms", one.row.measured_ms}};
  const bool known = one.skipped.empty();
  const auto number = [known](double value) {
    return known ? ordered_json(value) : ordered_json();
  };
  json["predicted_ms"] = number(one.predicted_ms);
  json["low_ms"] = number(one.low_ms);
  json["high_ms"] = number(one.high_ms);
  json["bound_ms"] = number(one.bound_ms);
  json["measured_memory_gib"] = number_or_null(one.row.measured_memory_gib);
  json["predicted_memory_gib"] = number_or_null(one.predicted_memory_gib);
  json["fits"] = one.fits ? ordered_json(*one.fits) : ordered_json();
  json["error"] = known ? ordered_json(one.error()) : ordered_json();
  json["assumed"] = one.row.assumed.empty() ? ordered_json() : ordered_json(one.row.assumed);
  json["skipped"] = known ? ordered_json() : ordered_json(one.skipped);
  return json;
}

/// A table of the data formats with these fields of the rows.
Table rows_table(const std::string& at, std::vector<std::string> names) {
  std::vector<Column> columns;
  for (std::string& name : names) columns.push_back({.title = name, .fields = {{name}}});
  return {.kind = "case", .rows = {.at = at}, .columns = std::move(columns), .shown = false};
}

Table skipped_rows(const calibration::StepEvaluation& evaluation) {
  ordered_json rows = ordered_json::array();
  for (const auto& [reason, count] : evaluation.skipped)
    rows.push_back({{"reason", reason}, {"rows", count}});
  return {.kind = "skipped",
          .title = "skipped rows",
          .rows = {.own = std::move(rows)},
          .columns = {{.title = "reason", .fields = {{"reason"}}, .rank = Rank::Identity},
                      {.title = "rows", .fields = {{"rows"}}, .unit = Unit::Count}},
          .data = false};
}

/// Measured and predicted time of every class, all steps together.
BarChart node_chart(const calibration::NodeEvaluation& evaluation) {
  ordered_json rows = ordered_json::array();
  for (const calibration::NodeClass& one : evaluation.classes) {
    auto row = std::find_if(rows.begin(), rows.end(),
                            [&](const ordered_json& known) { return known["class"] == one.kind; });
    if (row == rows.end()) {
      rows.push_back({{"class", one.kind}, {"measured_ms", 0.0}, {"predicted_ms", 0.0}});
      row = rows.end() - 1;
    }
    (*row)["measured_ms"] = (*row)["measured_ms"].get<double>() + one.measured_ms;
    (*row)["predicted_ms"] = (*row)["predicted_ms"].get<double>() + one.predicted_ms;
  }
  return {.title = "Time by class of nodes, all steps",
          .axis = "time",
          .unit = Unit::Milliseconds,
          .rows = {.own = std::move(rows)},
          .label = "class",
          .series = {{.name = "measured", .at = "measured_ms", .color = "#56b4e9"},
                     {.name = "predicted", .at = "predicted_ms", .color = "#0072b2"}}};
}

}  // namespace

Document describe(const calibration::StepEvaluation& evaluation) {
  Document document;
  document.title = "Accuracy: whole steps";
  ordered_json json{{"schema", 1},
                    {"predictor", evaluation.predictor},
                    {"leave_one_gpu_out", evaluation.left_out},
                    {"cases", ordered_json::array()},
                    {"summary", errors_json(evaluation.summary)},
                    {"skipped", evaluation.skipped},
                    {"provenance", provenance_json(evaluation.provenance)},
                    {"warnings", evaluation.warnings}};
  for (const StepCase& one : evaluation.cases) json["cases"].push_back(step_case_json(one));
  document.data = std::move(json);
  document.sections.emplace_back(Note{
      .lines = {evaluation.left_out
                    ? std::string("Each GPU is predicted with stack costs that were fitted without "
                                  "its rows, where a source has several GPUs.")
                    : fmt::format("Predictor {}, with the shipped costs of the software stacks.",
                                  evaluation.predictor)}});
  document.verdict = errors_verdict(evaluation.summary);
  if (!evaluation.summary.empty())
    document.sections.emplace_back(Figure(errors_chart(evaluation.summary)));
  document.sections.emplace_back(errors_table(evaluation.summary));
  document.sections.emplace_back(Note{.lines = {std::string(kStepLegend)}});
  if (!evaluation.skipped.empty()) document.sections.emplace_back(skipped_rows(evaluation));
  document.sections.emplace_back(
      rows_table("/cases", {"case", "device", "source", "framework", "stack", "phase",
                            "measured_ms", "predicted_ms", "low_ms", "high_ms", "bound_ms", "error",
                            "measured_memory_gib", "predicted_memory_gib", "assumed", "skipped"}));
  document.warnings = warnings_of(evaluation.warnings);
  document.provenance = evaluation.provenance;
  return document;
}

Document describe(const calibration::NodeEvaluation& evaluation) {
  Document document;
  document.title = "Kernels against traced nodes";
  ordered_json json{
      {"schema", 1}, {"cases", ordered_json::array()}, {"missing", ordered_json::array()}};
  for (const calibration::NodeClass& one : evaluation.classes) {
    json["cases"].push_back({{"device", one.device},
                             {"case", one.step},
                             {"class", one.kind},
                             {"measured_ms", one.measured_ms},
                             {"predicted_ms", one.predicted_ms},
                             {"share", one.share},
                             {"error", one.predicted_ms / one.measured_ms - 1}});
  }
  for (const calibration::MissingKernel& one : evaluation.missing) {
    json["missing"].push_back({{"device", one.device},
                               {"case", one.step},
                               {"node", one.node},
                               {"target", one.target},
                               {"share", one.share}});
  }
  json["provenance"] = provenance_json(evaluation.provenance);
  json["warnings"] = evaluation.warnings;
  document.data = std::move(json);
  document.verdict = {{.text = evaluation.missing.empty()
                                   ? "every node above 1 % of its step has a kernel"
                                   : fmt::format("{} without a kernel",
                                                 number_of(evaluation.missing.size(), "node")),
                       .tone = evaluation.missing.empty() ? Tone::Good : Tone::Bad}};
  if (!evaluation.classes.empty()) document.sections.emplace_back(Figure(node_chart(evaluation)));
  document.sections.emplace_back(Table{
      .kind = "class",
      .title = "nodes of measured steps by class, and our kernels for them",
      .rows = {.at = "/cases"},
      .columns = {{.title = "class", .fields = {{"class"}}, .rank = Rank::Identity},
                  {.title = "device", .fields = {{"device"}}},
                  {.title = "step", .fields = {{"case"}}},
                  {.title = "measured", .fields = {{"measured_ms"}}, .unit = Unit::Milliseconds},
                  {.title = "predicted", .fields = {{"predicted_ms"}}, .unit = Unit::Milliseconds},
                  {.title = "error", .fields = {{"error"}}, .unit = Unit::SignedFraction},
                  {.title = "of step", .fields = {{"share"}}, .unit = Unit::Fraction}}});
  std::vector<std::string> missing;
  for (const calibration::MissingKernel& one : evaluation.missing) {
    missing.push_back(fmt::format("{}, {}: {} ({}) takes {:.1f} % of the step", one.device,
                                  one.step, one.node, one.target, one.share * 100));
  }
  if (missing.empty()) {
    document.sections.emplace_back(
        Note{.lines = {"Every node above 1 % of its step has a kernel."}});
  } else {
    document.sections.emplace_back(
        Note{.title = "nodes without a kernel", .lines = std::move(missing), .list = true});
  }
  document.warnings = warnings_of(evaluation.warnings);
  document.provenance = evaluation.provenance;
  return document;
}

}  // namespace rooftile::report
