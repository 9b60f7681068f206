// SPDX-License-Identifier: Apache-2.0
//
// `rooftile generate`: prompts in, tokens out.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "core/provenance.h"
#include "core/text.h"
#include "report/describe.h"
#include "report/interval.h"
#include "report/lines.h"
#include "report/predict_json.h"
#include "report/request_json.h"
#include "rooftile/generate.h"

namespace rooftile::report {

namespace {

using nlohmann::ordered_json;

std::string size_text(double bytes) {
  return format_bytes(Bytes::from_base(bytes));
}

std::string time_text(const Interval& time) {
  return fmt::format("{} ({})", format_ms(time.value), interval_text(time.low, time.high));
}

std::string tokens_text(const GenerateReport& report) {
  const Interval& rate = report.tokens_per_s;
  std::string text = throughput(rate.value, "tokens", report.gpus);
  if (!states_interval(rate.low, rate.high)) return text + " (no interval)";
  return text +
         fmt::format(" (80 % interval {} to {})", per_second(rate.low), per_second(rate.high));
}

ordered_json ends_json(const Interval& interval) {
  return {{"low", interval.low}, {"high", interval.high}};
}

template <typename T>
ordered_json value_or_null(const std::optional<T>& value) {
  return value ? ordered_json(*value) : ordered_json();
}

std::string generation_title(const GenerateReport& report) {
  const GenerateRequest& request = report.request;
  std::string text =
      fmt::format("{}, {} tokens in, {} out, ", report.model_name, request.isl, request.osl);
  if (request.concurrency) {
    text += fmt::format("{} requests in flight", *request.concurrency);
    if (report.batch < *request.concurrency) text += fmt::format(" ({} run at once)", report.batch);
    if (request.disaggregated) text += ", prompts on other GPUs";
  } else {
    text += fmt::format("batch {}", report.batch);
  }
  return text + fmt::format(", {}, {}", request.step.dtype, request.step.stack);
}

ordered_json generation_json(const GenerateReport& report) {
  const GenerateRequest& request = report.request;
  const MemoryReport& memory = report.memory;
  ordered_json json{{"schema", 1},
                    {"request", request_json(request.step)},
                    {"isl", request.isl},
                    {"osl", request.osl},
                    {"model", report.model_name},
                    {"gpu", report.gpu_name},
                    {"gpus", report.gpus},
                    {"assumed", report.decode.assumed},
                    {"ttft_ms", report.ttft_ms.value},
                    {"tpot_ms", report.tpot_ms.value},
                    {"request_ms", report.request_ms.value},
                    {"tokens_per_s", report.tokens_per_s.value},
                    {"tokens_per_s_per_gpu", report.tokens_per_s_per_gpu},
                    {"batch", report.batch},
                    {"concurrency", value_or_null(request.concurrency)},
                    {"largest_batch", value_or_null(report.largest_batch)},
                    {"energy_per_token_j", value_or_null(report.energy_per_token_j)},
                    {"prefill_ms", report.prefill.latency.total_ms},
                    {"decode_ms", report.decode.latency.total_ms}};
  json["intervals"] = {{"ttft_ms", ends_json(report.ttft_ms)},
                       {"tpot_ms", ends_json(report.tpot_ms)},
                       {"request_ms", ends_json(report.request_ms)},
                       {"tokens_per_s", ends_json(report.tokens_per_s)}};
  json["memory"] = {{"weights_bytes", memory.weights_bytes},
                    {"activations_bytes", memory.activations_bytes},
                    {"kv_cache_bytes", memory.kv_cache_bytes},
                    {"total_bytes", memory.total_bytes},
                    {"capacity_bytes", value_or_null(memory.capacity_bytes)},
                    {"fits", value_or_null(memory.fits)}};
  json["provenance"] = provenance_json(report.provenance);
  json["warnings"] = report.warnings;
  return json;
}

Facts generation_facts(const GenerateReport& report) {
  Facts facts{.rows = {{"first token", time_text(report.ttft_ms)},
                       {"per token", time_text(report.tpot_ms)},
                       {"request", time_text(report.request_ms)}}};
  if (!report.decode.assumed.empty())
    facts.rows.push_back({"assumed", fmt::format("{}", fmt::join(report.decode.assumed, ", "))});
  facts.rows.push_back({"throughput", tokens_text(report)});
  if (report.energy_per_token_j)
    facts.rows.push_back(
        {"energy", fmt::format("at most {:.3g} J per token, with boards at their power limit",
                               *report.energy_per_token_j)});
  facts.rows.push_back(
      {"prefill", fmt::format("{}, batch {}", format_ms(report.prefill.latency.total_ms),
                              report.prefill.request.batch)});
  facts.rows.push_back(
      {"decode step", fmt::format("{} halfway through, batch {}",
                                  format_ms(report.decode.latency.total_ms), report.batch)});
  return facts;
}

Facts generation_memory(const GenerateReport& report) {
  const MemoryReport& memory = report.memory;
  std::string needs = size_text(memory.total_bytes);
  if (memory.capacity_bytes)
    needs += fmt::format(" of {}: {}", size_text(*memory.capacity_bytes),
                         memory.fits.value_or(false) ? "fits" : "DOES NOT FIT");
  Facts facts{.title = "memory of the fullest GPU at full length",
              .rows = {{"needs", std::move(needs)},
                       {"for", fmt::format("weights {}, KV cache {}, activations {}",
                                           size_text(memory.weights_bytes),
                                           size_text(memory.kv_cache_bytes),
                                           size_text(memory.activations_bytes))}}};
  if (report.largest_batch)
    facts.rows.push_back({"largest batch", fmt::format("{} sequences", *report.largest_batch)});
  return facts;
}

ordered_json time_row(const std::string& label, const Interval& time, const std::string& remark) {
  ordered_json row{{"label", label}, {"time_ms", time.value}, {"remark", remark}};
  if (!states_interval(time.low, time.high)) return row;
  row["low_ms"] = time.low;
  row["high_ms"] = time.high;
  return row;
}

/// The first token, the others, and both together.
BarChart generation_times(const GenerateReport& report) {
  const auto others = static_cast<double>(report.request.osl - 1);
  const Interval& token = report.tpot_ms;
  ordered_json rows = ordered_json::array();
  rows.push_back(time_row("first token", report.ttft_ms, ""));
  if (others > 0)
    rows.push_back(time_row("other tokens",
                            {token.value * others, token.low * others, token.high * others},
                            fmt::format("{:.0f} x {}", others, format_ms(token.value))));
  rows.push_back(time_row("request", report.request_ms, ""));
  const bool intervals = states_interval(report.request_ms.low, report.request_ms.high);
  return {.title = "Time of a request",
          .axis = "time",
          .unit = Unit::Milliseconds,
          .rows = {.own = std::move(rows)},
          .label = "label",
          .series = {{.name = "time",
                      .at = "time_ms",
                      .low = "low_ms",
                      .high = "high_ms",
                      .color = "#0072b2"}},
          .remark = "remark",
          .note = intervals ? "whiskers: 80 % interval" : ""};
}

BarChart generation_bytes(const GenerateReport& report) {
  const MemoryReport& memory = report.memory;
  const char* tone = memory.fits.value_or(true) ? "good" : "bad";
  ordered_json rows = ordered_json::array();
  for (const auto& [label, bytes] : {std::pair{"weights", memory.weights_bytes},
                                     {"KV cache", memory.kv_cache_bytes},
                                     {"activations", memory.activations_bytes},
                                     {"all", memory.total_bytes}})
    rows.push_back({{"label", label}, {"bytes", bytes}, {"tone", tone}});
  BarChart chart{.title = "Memory of the fullest GPU at full length",
                 .axis = "memory",
                 .unit = Unit::Bytes,
                 .rows = {.own = std::move(rows)},
                 .label = "label",
                 .series = {{.name = "memory", .at = "bytes"}},
                 .tone = "tone"};
  if (memory.capacity_bytes)
    chart.lines.push_back({.value = *memory.capacity_bytes,
                           .text = fmt::format("capacity {}", size_text(*memory.capacity_bytes))});
  return chart;
}

/// One row for CSV: the tree itself.
Table generation_row() {
  Table table{.kind = "generation", .rows = {.first = "/"}, .columns = {}, .shown = false};
  const auto add = [&](const std::string& at, const std::string& name = {}) {
    table.columns.push_back({.title = at, .fields = {{at, name}}});
  };
  for (const char* at : {"model", "gpu", "gpus", "isl", "osl", "batch", "concurrency"}) add(at);
  for (const std::string at : {"ttft_ms", "tpot_ms", "request_ms", "tokens_per_s"}) {
    add(at);
    add("intervals/" + at + "/low", at + "_low");
    add("intervals/" + at + "/high", at + "_high");
  }
  for (const char* at : {"tokens_per_s_per_gpu", "energy_per_token_j", "largest_batch"}) add(at);
  for (const std::string at : {"total_bytes", "capacity_bytes", "fits"})
    add("memory/" + at, at == "fits" ? at : "memory_" + at);
  return table;
}

}  // namespace

Document describe(const GenerateReport& report) {
  Document document;
  document.title = generation_title(report);
  document.subtitle = fmt::format("on {}{}, predictor: {}",
                                  report.gpus > 1 ? fmt::format("{} x ", report.gpus) : "",
                                  report.gpu_name, report.decode.predictor);
  document.verdict = {
      {.text = throughput(report.tokens_per_s.value, "tokens", 1)},
      {.text = fmt::format("first token after {}, then {} per token",
                           format_ms(report.ttft_ms.value), format_ms(report.tpot_ms.value))}};
  if (report.memory.fits)
    document.verdict.push_back(
        {.text = fits_text(report.memory), .tone = *report.memory.fits ? Tone::Good : Tone::Bad});
  document.data = generation_json(report);
  document.sections.emplace_back(Figure(generation_times(report)));
  document.sections.push_back(generation_facts(report));
  document.sections.emplace_back(Figure(generation_bytes(report)));
  document.sections.push_back(generation_memory(report));
  document.sections.push_back(generation_row());
  document.warnings = warnings_of(report.warnings);
  document.provenance = report.provenance;
  return document;
}

}  // namespace rooftile::report
