// SPDX-License-Identifier: Apache-2.0
#include "report/label_view.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "report/accuracy_table.h"
#include "report/errors_json.h"
#include "report/interval.h"
#include "report/json_text.h"
#include "report/provenance_view.h"
#include "report/table.h"

namespace rooftile::report {

namespace {

std::string published(const ErrorSummary& s, const std::string& name) {
  const auto it = s.baselines.find("published " + name);
  if (it == s.baselines.end()) return "-";
  const BaselineError& e = it->second;
  return e.cases == s.cases ? percent(e.mean_error)
                            : fmt::format("{} ({})", percent(e.mean_error), e.cases);
}

std::vector<std::string> cells(const ErrorSummary& s) {
  return {s.group,
          std::to_string(s.cases),
          percent(s.mean_error),
          percent(s.median_error),
          percent(s.geometric_error),
          percent(s.p90_error),
          percent(s.worst_error),
          signed_percent(s.bias),
          percent(s.coverage),
          percent(s.baseline("trivial")),
          percent(s.baseline("neusight")),
          published(s, "neusight"),
          published(s, "roofline"),
          percent(s.baseline("bound"))};
}

AccuracyTable table_of(const calibration::LabelEvaluation& evaluation) {
  AccuracyTable table{
      .titles = {"group", "rows", "error %", "median %", "geo %", "p90 %", "worst %", "bias %",
                 "inside %", "trivial %", "neusight %", "published %", "roofline %", "bound %"},
      .rows = {},
      .details = {"median %", "geo %", "p90 %", "worst %", "roofline %", "bound %"}};
  for (const ErrorSummary& s : evaluation.summary) table.rows.push_back(cells(s));
  return table;
}

std::string heading(const calibration::LabelEvaluation& evaluation) {
  std::string text = accuracy_heading(evaluation.predictor, evaluation.left_out);
  for (const auto& [option, rows] : evaluation.skipped) {
    text += fmt::format(" Rows with option {} are not modelled: {}.", option, rows);
  }
  for (const std::string& column : evaluation.unread_columns) {
    text += fmt::format(" The column {} is not read.", column);
  }
  return text;
}

AccuracyTable fusion_table(const calibration::LabelEvaluation& evaluation) {
  AccuracyTable table{.titles = {"fusion gain", "device", "measured", "predicted"}, .rows = {}};
  for (const calibration::FusionGain& gain : evaluation.fusion) {
    table.rows.push_back({gain.name, gain.device, fmt::format("{:.2f}x", gain.measured),
                          fmt::format("{:.2f}x", gain.predicted)});
  }
  return table;
}

}  // namespace

std::string labels_to_text(const calibration::LabelEvaluation& evaluation, int width) {
  std::string text = heading(evaluation) + "\n\n" + table_of(evaluation).to_text(width);
  if (!evaluation.fusion.empty()) text += "\n" + fusion_table(evaluation).to_text(width);
  for (const std::string& warning : evaluation.warnings) {
    text += labelled("warning", warning, width, false);
  }
  return text + "\n" + provenance_to_text(evaluation.provenance, false);
}

std::string labels_to_markdown(const calibration::LabelEvaluation& evaluation) {
  std::string text =
      "# Accuracy: steps\n\n" + heading(evaluation) +
      "\nErrors are mean |predicted / measured - 1| of the step, *geo* exp(mean |ln|) - 1; "
      "*inside* is the share "
      "of rows in the stated 80 % interval;\n*trivial* is roofline / u + c and *neusight* the "
      "published formulation, both fitted on the same kernels as ours;\n*published* is what "
      "NeuSight's authors predicted and *roofline* their roofline, columns of the same rows (in "
      "brackets: on how\nmany of them).\n\n" +
      table_of(evaluation).to_markdown();
  if (!evaluation.fusion.empty()) {
    text += "\nFusion gain: the step without over the step with fused vector operators.\n\n" +
            fusion_table(evaluation).to_markdown();
  }
  return text;
}

std::string labels_to_json(const calibration::LabelEvaluation& evaluation) {
  using nlohmann::ordered_json;
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
  return json_text(json);
}

std::string labels_to_csv(const calibration::LabelEvaluation& evaluation) {
  std::string text =
      "device,case,measured_ms,predicted_ms,low_ms,high_ms,bound_ms,error,trivial_ms,"
      "neusight_ms\n";
  const auto field = [](std::optional<double> ms) { return ms ? fmt::to_string(*ms) : ""; };
  for (const calibration::LabelCase& one : evaluation.cases) {
    text +=
        fmt::format("{},{},{},{},{},{},{},{},{},{}\n", csv_field(one.device), csv_field(one.name),
                    one.measured_ms, one.predicted_ms, one.low_ms, one.high_ms, one.bound_ms,
                    one.error(), field(one.trivial_ms), field(one.neusight_ms));
  }
  return text;
}

}  // namespace rooftile::report
