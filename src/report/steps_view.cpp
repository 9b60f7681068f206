// SPDX-License-Identifier: Apache-2.0
#include "report/steps_view.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "core/text.h"
#include "report/accuracy_table.h"
#include "report/interval.h"
#include "report/json_text.h"
#include "report/provenance_view.h"
#include "report/request_json.h"
#include "report/table.h"

namespace rooftile::report {

namespace {

using calibration::StepCase;
using calibration::StepEvaluation;
using calibration::StepSummary;
using nlohmann::ordered_json;

AccuracyTable summary_table(const StepEvaluation& evaluation) {
  AccuracyTable table{.titles = {"group", "rows", "error %", "median %", "p90 %", "worst %",
                                 "bias %", "inside %", "trivial %", "memory %"},
                      .rows = {},
                      .details = {"median %", "worst %"}};
  for (const StepSummary& s : evaluation.summary) {
    table.rows.push_back(
        {s.group, std::to_string(s.cases), percent(s.mean_error), percent(s.median_error),
         percent(s.p90_error), percent(s.worst_error), signed_percent(s.bias), percent(s.coverage),
         percent(s.baseline_error),
         s.memory_error ? fmt::format("{} ({})", percent(*s.memory_error), s.memory_cases) : "-"});
  }
  return table;
}

AccuracyTable skipped_table(const StepEvaluation& evaluation) {
  AccuracyTable table{.titles = {"skipped because", "rows"}, .rows = {}};
  for (const auto& [reason, rows] : evaluation.skipped)
    table.rows.push_back({reason, std::to_string(rows)});
  return table;
}

std::string steps_heading(const StepEvaluation& evaluation) {
  return evaluation.left_out
             ? "Every GPU with costs of the software stacks that were fitted without its rows."
             : fmt::format("Predictor {}, with the costs of the software stacks as shipped.",
                           evaluation.predictor);
}

ordered_json case_json(const StepCase& one) {
  ordered_json json{{"case", one.row.name},
                    {"device", one.row.device},
                    {"source", one.row.source},
                    {"framework", one.row.framework},
                    {"stack", one.row.stack},
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

std::string interval_words(const Interval& time) {
  return fmt::format("{}  ({})", format_ms(time.value), interval_text(time.low, time.high));
}

ordered_json interval_json(const Interval& interval) {
  return {{"low", interval.low}, {"high", interval.high}};
}

std::string generate_title(const GenerateReport& report) {
  const GenerateRequest& request = report.request;
  std::string text = fmt::format("{} on {}", report.model_name, report.gpu_name);
  if (report.gpus > 1) text += fmt::format(" x {}", report.gpus);
  text += fmt::format(": {} tokens in, {} out, ", request.isl, request.osl);
  text += request.concurrency ? fmt::format("{} requests in flight", report.batch)
                              : fmt::format("batch {}", report.batch);
  return text + fmt::format("; {}, stack {}", request.step.dtype, request.step.stack);
}

}  // namespace

std::string steps_to_text(const StepEvaluation& evaluation, int width) {
  std::string text = steps_heading(evaluation) + "\n\n" + summary_table(evaluation).to_text(width);
  if (!evaluation.skipped.empty()) text += "\n" + skipped_table(evaluation).to_text(width);
  for (const std::string& warning : evaluation.warnings)
    text += labelled("warning", warning, width, false);
  return text + "\n" + provenance_to_text(evaluation.provenance, false);
}

std::string steps_to_markdown(const StepEvaluation& evaluation) {
  std::string text =
      "# Accuracy: whole steps\n\n" + steps_heading(evaluation) +
      "\nErrors are mean |predicted / measured - 1| of the step; *inside* is the share of rows in "
      "the stated 80 % interval;\n*trivial* is the bound / 0.7; *memory* the error of the peak "
      "where it was measured (in brackets: on how many rows).\n\n" +
      summary_table(evaluation).to_markdown();
  if (!evaluation.skipped.empty()) text += "\n" + skipped_table(evaluation).to_markdown();
  return text;
}

std::string steps_to_json(const StepEvaluation& evaluation) {
  ordered_json json{{"schema", 1},
                    {"predictor", evaluation.predictor},
                    {"leave_one_gpu_out", evaluation.left_out},
                    {"cases", ordered_json::array()},
                    {"summary", ordered_json::array()},
                    {"skipped", evaluation.skipped}};
  for (const StepCase& one : evaluation.cases) json["cases"].push_back(case_json(one));
  for (const StepSummary& s : evaluation.summary) {
    json["summary"].push_back({{"group", s.group},
                               {"cases", s.cases},
                               {"mean_error", s.mean_error},
                               {"median_error", s.median_error},
                               {"geometric_error", s.geometric_error},
                               {"p90_error", s.p90_error},
                               {"worst_error", s.worst_error},
                               {"bias", s.bias},
                               {"coverage", number_or_null(s.coverage)},
                               {"baseline_error", s.baseline_error},
                               {"memory_error", number_or_null(s.memory_error)},
                               {"memory_cases", s.memory_cases}});
  }
  json["provenance"] = provenance_json(evaluation.provenance);
  json["warnings"] = evaluation.warnings;
  return json_text(json);
}

std::string steps_to_csv(const StepEvaluation& evaluation) {
  std::string text =
      "case,device,source,framework,stack,phase,measured_ms,predicted_ms,low_ms,high_ms,bound_ms,"
      "error,skipped\n";
  for (const StepCase& one : evaluation.cases) {
    const calibration::StepRow& row = one.row;
    text += fmt::format("{},{},{},{},{},{},{},", csv_field(row.name), csv_field(row.device),
                        csv_field(row.source), csv_field(row.framework), csv_field(row.stack),
                        csv_field(row.phase), row.measured_ms);
    text += one.skipped.empty() ? fmt::format("{},{},{},{},{},\n", one.predicted_ms, one.low_ms,
                                              one.high_ms, one.bound_ms, one.error())
                                : fmt::format(",,,,,{}\n", csv_field(one.skipped));
  }
  return text;
}

std::string nodes_to_text(const calibration::NodeEvaluation& evaluation, int width) {
  AccuracyTable table{
      .titles = {"class", "device", "step", "measured", "predicted", "error %", "of step %"},
      .rows = {}};
  for (const calibration::NodeClass& one : evaluation.classes) {
    if (one.share < calibration::kNodeShare) continue;
    table.rows.push_back(
        {one.kind, one.device, one.step, format_ms(one.measured_ms), format_ms(one.predicted_ms),
         signed_percent(one.predicted_ms / one.measured_ms - 1), percent(one.share)});
  }
  std::string text = "Nodes of measured steps by class, and our kernels for them.\n\n" +
                     table.to_text(width) + "\n";
  for (const calibration::MissingKernel& one : evaluation.missing) {
    text += labelled("no kernel",
                     fmt::format("{}, {}: {} ({}) takes {} % of the step", one.device, one.step,
                                 one.node, one.target, percent(one.share)),
                     width, false);
  }
  if (evaluation.missing.empty()) text += "Every node above 1 % of its step has a kernel.\n";
  return text + "\n" + provenance_to_text(evaluation.provenance, false);
}

std::string nodes_to_json(const calibration::NodeEvaluation& evaluation) {
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
  return json_text(json);
}

std::string generate_to_text(const GenerateReport& report) {
  std::string text = generate_title(report) + "\n\n";
  const auto row = [&](std::string_view name, const std::string& value) {
    text += fmt::format("  {:<22} {}\n", name, value);
  };
  row("time to first token", interval_words(report.ttft_ms));
  row("time per token", interval_words(report.tpot_ms));
  row("request", interval_words(report.request_ms));
  row("throughput",
      fmt::format("{:.4g} tokens/s  (80 % interval {:.4g} to {:.4g})", report.tokens_per_s.value,
                  report.tokens_per_s.low, report.tokens_per_s.high));
  if (report.gpus > 1) row("per GPU", fmt::format("{:.4g} tokens/s", report.tokens_per_s_per_gpu));
  if (report.energy_per_token_j)
    row("energy per token",
        fmt::format("{:.3g} J at most, at the limit of the boards", *report.energy_per_token_j));
  text += "\n";
  row("prefill", fmt::format("{}, batch {}", format_ms(report.prefill.latency.total_ms),
                             report.prefill.request.batch));
  row("decode step",
      fmt::format("{} halfway, batch {}", format_ms(report.decode.latency.total_ms), report.batch));
  const MemoryReport& memory = report.memory;
  row("memory",
      fmt::format(
          "{} at full length: weights {}, cache {}, activations {}{}",
          format_bytes(Bytes::from_base(memory.total_bytes)),
          format_bytes(Bytes::from_base(memory.weights_bytes)),
          format_bytes(Bytes::from_base(memory.kv_cache_bytes)),
          format_bytes(Bytes::from_base(memory.activations_bytes)),
          memory.capacity_bytes
              ? fmt::format("; of {}", format_bytes(Bytes::from_base(*memory.capacity_bytes)))
              : std::string()));
  if (report.largest_batch)
    row("largest batch", fmt::format("{} sequences fit", *report.largest_batch));
  text += "\n";
  for (const std::string& warning : report.warnings)
    text += labelled(warning.starts_with("assumed") ? "note" : "warning", warning, 100, false);
  return text + provenance_to_text(report.provenance, false);
}

std::string generate_to_json(const GenerateReport& report) {
  const GenerateRequest& request = report.request;
  const MemoryReport& memory = report.memory;
  ordered_json json{
      {"schema", 1},
      {"request", request_json(request.step)},
      {"isl", request.isl},
      {"osl", request.osl},
      {"model", report.model_name},
      {"gpu", report.gpu_name},
      {"gpus", report.gpus},
      {"ttft_ms", report.ttft_ms.value},
      {"tpot_ms", report.tpot_ms.value},
      {"request_ms", report.request_ms.value},
      {"tokens_per_s", report.tokens_per_s.value},
      {"tokens_per_s_per_gpu", report.tokens_per_s_per_gpu},
      {"batch", report.batch},
      {"concurrency", request.concurrency ? ordered_json(*request.concurrency) : ordered_json()},
      {"largest_batch",
       report.largest_batch ? ordered_json(*report.largest_batch) : ordered_json()},
      {"energy_per_token_j", number_or_null(report.energy_per_token_j)}};
  json["intervals"] = {{"ttft_ms", interval_json(report.ttft_ms)},
                       {"tpot_ms", interval_json(report.tpot_ms)},
                       {"request_ms", interval_json(report.request_ms)},
                       {"tokens_per_s", interval_json(report.tokens_per_s)}};
  json["prefill_ms"] = report.prefill.latency.total_ms;
  json["decode_ms"] = report.decode.latency.total_ms;
  json["memory"] = {{"weights_bytes", memory.weights_bytes},
                    {"activations_bytes", memory.activations_bytes},
                    {"kv_cache_bytes", memory.kv_cache_bytes},
                    {"total_bytes", memory.total_bytes},
                    {"capacity_bytes", number_or_null(memory.capacity_bytes)},
                    {"fits", memory.fits ? ordered_json(*memory.fits) : ordered_json()}};
  json["provenance"] = provenance_json(report.provenance);
  json["warnings"] = report.warnings;
  return json_text(json);
}

}  // namespace rooftile::report
