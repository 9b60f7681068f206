// SPDX-License-Identifier: Apache-2.0
#include "report/label_view.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "report/table.h"

namespace rooftile::report {

namespace {

std::string percent(double fraction) {
  return fmt::format("{:.1f}", fraction * 100);
}

std::string published(const LabelSummary& s, const std::string& name) {
  const auto it = s.published_error.find(name);
  if (it == s.published_error.end()) return "-";
  const std::int64_t rows = s.published_cases.at(name);
  return rows == s.cases ? percent(it->second) : fmt::format("{} ({})", percent(it->second), rows);
}

std::vector<std::string> cells(const LabelSummary& s) {
  return {s.group,
          std::to_string(s.cases),
          percent(s.mean_error),
          percent(s.p90_error),
          percent(s.worst_error),
          fmt::format("{:+.1f}", s.bias * 100),
          percent(s.coverage),
          published(s, "neusight"),
          published(s, "roofline"),
          percent(s.baseline_error)};
}

const std::vector<std::string>& titles() {
  static const std::vector<std::string> kTitles{"group",      "rows",   "error %",  "p90 %",
                                                "worst %",    "bias %", "inside %", "NeuSight %",
                                                "roofline %", "bound %"};
  return kTitles;
}

std::string heading(const LabelEvaluation& evaluation) {
  std::string text = evaluation.left_out
                         ? "Every GPU predicted by weights that have seen nothing measured on it."
                         : fmt::format("Predictor {}; it may have been fitted on these GPUs.",
                                       evaluation.predictor);
  for (const auto& [option, rows] : evaluation.skipped) {
    text += fmt::format(" {} rows with option {} are not modelled.", rows, option);
  }
  return text;
}

}  // namespace

std::string labels_to_text(const LabelEvaluation& evaluation, int width) {
  std::vector<Column> columns;
  for (const std::string& title : titles()) {
    columns.push_back({.title = title,
                       .align = columns.empty() ? Align::Left : Align::Right,
                       .shrink = columns.empty()});
  }
  Table table(columns);
  for (const LabelSummary& s : evaluation.summary) table.add(cells(s));
  return heading(evaluation) + "\n\n" + table.render(width, 0);
}

std::string labels_to_markdown(const LabelEvaluation& evaluation) {
  std::string text =
      "# Accuracy: steps\n\n" + heading(evaluation) +
      "\nErrors are mean |predicted / measured - 1| of the step; *inside* is the share "
      "of rows in the stated 80 % interval;\n*NeuSight* and *roofline* are the published "
      "columns of the same rows (in brackets: on how many of them).\n\n";
  text += fmt::format("| {} |\n", fmt::join(titles(), " | "));
  text += "|---";
  for (std::size_t i = 1; i < titles().size(); ++i) text += "|---:";
  text += "|\n";
  for (const LabelSummary& s : evaluation.summary) {
    text += fmt::format("| {} |\n", fmt::join(cells(s), " | "));
  }
  return text;
}

std::string labels_to_json(const LabelEvaluation& evaluation) {
  using nlohmann::ordered_json;
  ordered_json json{{"schema", 1},
                    {"predictor", evaluation.predictor},
                    {"left_out", evaluation.left_out},
                    {"cases", ordered_json::array()},
                    {"summary", ordered_json::array()},
                    {"skipped", evaluation.skipped}};
  for (const LabelCase& one : evaluation.cases) {
    json["cases"].push_back({{"device", one.device},
                             {"case", one.name},
                             {"measured_ms", one.measured_ms},
                             {"predicted_ms", one.predicted_ms},
                             {"low_ms", one.low_ms},
                             {"high_ms", one.high_ms},
                             {"bound_ms", one.bound_ms},
                             {"error", one.error()},
                             {"published_ms", one.published_ms}});
  }
  for (const LabelSummary& s : evaluation.summary) {
    json["summary"].push_back({{"group", s.group},
                               {"cases", s.cases},
                               {"mean_error", s.mean_error},
                               {"p90_error", s.p90_error},
                               {"worst_error", s.worst_error},
                               {"bias", s.bias},
                               {"coverage", s.coverage},
                               {"baseline_error", s.baseline_error},
                               {"published_error", s.published_error}});
  }
  return json.dump(2) + "\n";
}

std::string labels_to_csv(const LabelEvaluation& evaluation) {
  std::string text = "device,case,measured_ms,predicted_ms,low_ms,high_ms,bound_ms,error\n";
  for (const LabelCase& one : evaluation.cases) {
    text += fmt::format("{},{},{},{},{},{},{},{}\n", csv_field(one.device), csv_field(one.name),
                        one.measured_ms, one.predicted_ms, one.low_ms, one.high_ms, one.bound_ms,
                        one.error());
  }
  return text;
}

}  // namespace rooftile::report
