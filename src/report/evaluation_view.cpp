// SPDX-License-Identifier: Apache-2.0
#include "report/evaluation_view.h"

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

using calibration::CaseFacts;

std::vector<std::string> cells(const ErrorSummary& s) {
  return {s.group,
          std::to_string(s.cases),
          percent(s.mean_error),
          percent(s.median_error),
          percent(s.geometric_error),
          percent(s.p90_error),
          signed_percent(s.bias),
          percent(s.coverage),
          percent(s.baseline("trivial")),
          percent(s.baseline("neusight")),
          percent(s.baseline("roofline")),
          percent(s.baseline("bound"))};
}

AccuracyTable table_of(const calibration::Evaluation& evaluation) {
  AccuracyTable table{.titles = {"group", "rows", "error %", "median %", "geo %", "p90 %", "bias %",
                                 "inside %", "trivial %", "neusight %", "roofline %", "bound %"},
                      .rows = {}};
  for (const ErrorSummary& s : evaluation.summary) table.rows.push_back(cells(s));
  return table;
}

std::string heading(const calibration::Evaluation& evaluation) {
  std::string text = accuracy_heading(evaluation.predictor, evaluation.left_out);
  if (evaluation.skipped > 0)
    text += fmt::format("\n{} rows of dtypes or collectives that are not modelled were skipped.",
                        evaluation.skipped);
  return text;
}

}  // namespace

std::string evaluation_to_text(const calibration::Evaluation& evaluation) {
  constexpr int kWidth = 110;
  std::string text = heading(evaluation) + "\n\n" + table_of(evaluation).to_text(kWidth);
  for (const std::string& warning : evaluation.warnings) {
    text += labelled("warning", warning, kWidth, false);
  }
  return text + "\n" + provenance_to_text(evaluation.provenance, false);
}

std::string evaluation_to_markdown(const calibration::Evaluation& evaluation) {
  return "# Accuracy: kernels\n\n" + heading(evaluation) +
         "\nErrors are mean |predicted / measured - 1|; *geo* is exp(mean |ln(predicted / "
         "measured)|) - 1; "
         "*inside* is the share of rows "
         "in the stated 80 % interval;\n*trivial* is roofline / u + c and *neusight* the "
         "published formulation, both fitted on the same GPUs as ours\n(how the "
         "refit differs, and how little its left-out column says: docs/theory/predictor.md).\n\n" +
         table_of(evaluation).to_markdown();
}

std::string evaluation_to_json(const calibration::Evaluation& evaluation,
                               const calibration::Dataset& dataset) {
  using nlohmann::ordered_json;
  ordered_json json{{"schema", 1},
                    {"predictor", evaluation.predictor},
                    {"leave_one_gpu_out", evaluation.left_out},
                    {"skipped", evaluation.skipped},
                    {"cases", ordered_json::array()},
                    {"summary", errors_json(evaluation.summary)}};
  for_each_case(evaluation, dataset, [&](const CaseFacts& facts, const calibration::Case& c) {
    json["cases"].push_back({{"device", facts.device},
                             {"case", facts.name},
                             {"class", facts.kind},
                             {"campaign", facts.campaign},
                             {"measured_ms", c.measured * 1e3},
                             {"predicted_ms", c.predicted * 1e3},
                             {"low_ms", c.low * 1e3},
                             {"high_ms", c.high * 1e3},
                             {"bound_ms", c.bound * 1e3},
                             {"error", c.error()},
                             {"extrapolated", c.extrapolated}});
    if (c.neusight) json["cases"].back()["neusight_ms"] = *c.neusight * 1e3;
  });
  json["provenance"] = provenance_json(evaluation.provenance);
  json["warnings"] = evaluation.warnings;
  return json_text(json, 1);
}

std::string evaluation_to_csv(const calibration::Evaluation& evaluation,
                              const calibration::Dataset& dataset) {
  std::string text = "device,case,class,campaign,measured_ms,predicted_ms,low_ms,high_ms,error\n";
  for_each_case(evaluation, dataset, [&](const CaseFacts& facts, const calibration::Case& c) {
    const std::string interval = states_interval(c.low, c.high)
                                     ? fmt::format("{:.6g},{:.6g}", c.low * 1e3, c.high * 1e3)
                                     : ",";
    text += fmt::format("{},{},{},{},{:.6g},{:.6g},{},{:.5f}\n", csv_field(facts.device),
                        csv_field(facts.name), facts.kind, csv_field(facts.campaign),
                        c.measured * 1e3, c.predicted * 1e3, interval, c.error());
  });
  return text;
}

std::string inspection_to_text(const calibration::Inspection& inspection,
                               const ProvenanceReport& provenance) {
  Table table({{.title = "class"},
               {.title = "GPU"},
               {.title = "campaign"},
               {.title = "rows", .align = Align::Right},
               {.title = "shortest", .align = Align::Right},
               {.title = "longest", .align = Align::Right},
               {.title = "below bound", .align = Align::Right},
               {.title = "repeated", .align = Align::Right},
               {.title = "spread %", .align = Align::Right}});
  for (const calibration::GroupFacts& g : inspection.groups) {
    table.add({g.name, g.gpu, g.campaign, std::to_string(g.rows), format_ms(g.shortest * 1e3),
               format_ms(g.longest * 1e3), std::to_string(g.below_bound),
               std::to_string(g.duplicates), g.duplicates > 0 ? percent(g.duplicate_spread) : ""});
  }
  constexpr int kWidth = 110;
  std::string text = table.render(kWidth, 0) + "\nRanges\n";
  for (const auto& [name, range] : inspection.ranges) {
    text += fmt::format("  {:<14}", name);
    for (const auto& [dimension, limits] : range.dimensions)
      text += fmt::format(" {} {:g}..{:g}", dimension, limits[0], limits[1]);
    text +=
        fmt::format("  ({}; {})\n", fmt::join(range.dtypes, ", "), fmt::join(range.vendors, ", "));
  }
  if (!inspection.notes.empty()) text += "\nNotes\n";
  for (const std::string& note : inspection.notes) text += "  " + note + "\n";
  const std::size_t shown = inspection.suspicious.size();
  if (shown > 0)
    text += inspection.suspicious_rows > static_cast<std::int64_t>(shown)
                ? fmt::format("\nSuspicious rows (the first {} of {})\n", shown,
                              inspection.suspicious_rows)
                : "\nSuspicious rows\n";
  for (const calibration::Suspicious& s : inspection.suspicious)
    text += fmt::format("  {}: {}\n", s.where, s.reason);
  return text + "\n" + provenance_to_text(provenance, false);
}

}  // namespace rooftile::report
