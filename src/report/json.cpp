// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <nlohmann/json.hpp>

#include "report/breakdown.h"
#include "report/interval.h"
#include "report/json_text.h"
#include "report/operator_rows.h"
#include "report/provenance_view.h"
#include "report/request_json.h"
#include "report/views.h"

namespace rooftile::report {

namespace {

using nlohmann::ordered_json;

constexpr int kReportSchema = 1;  // docs/format/report.md

ordered_json memory_json(const MemoryReport& memory) {
  ordered_json json{
      {"weights_bytes", memory.weights_bytes},     {"gradients_bytes", memory.gradients_bytes},
      {"optimizer_bytes", memory.optimizer_bytes}, {"activations_bytes", memory.activations_bytes},
      {"kv_cache_bytes", memory.kv_cache_bytes},   {"total_bytes", memory.total_bytes}};
  if (memory.capacity_bytes) json["capacity_bytes"] = *memory.capacity_bytes;
  if (memory.fits) json["fits"] = *memory.fits;
  return json;
}

ordered_json parallel_json(const ParallelReport& parallel) {
  return {{"gpus", parallel.gpus},
          {"dp", parallel.dp},
          {"tp", parallel.tp},
          {"pp", parallel.pp},
          {"microbatches", parallel.microbatches},
          {"system", parallel.system},
          {"links",
           {{"data", parallel.data_link},
            {"tensor", parallel.tensor_link},
            {"pipeline", parallel.pipeline_link}}},
          {"idle_fraction", parallel.idle_fraction}};
}

ordered_json parts_json(std::span<const PartReport> parts) {
  ordered_json list = ordered_json::array();
  for (const PartReport& part : parts) {
    list.push_back({{"name", part.name}, {"latency_ms", part.latency_ms}, {"share", part.share}});
  }
  return list;
}

/// Users' units and, with operators, the rates that their roofs have.
ordered_json rates_json(const Report& report, bool with_roofs) {
  ordered_json json = ordered_json::object();
  const ThroughputReport& t = report.throughput;
  for (const auto& [key, value] :
       {std::pair("tokens_per_s", t.tokens_per_s),
        std::pair("tokens_per_s_per_gpu", t.tokens_per_s_per_gpu),
        std::pair("images_per_s", t.images_per_s), std::pair("mfu", t.mfu), std::pair("mbu", t.mbu),
        std::pair("energy_per_token_j", t.energy_per_token_j)}) {
    if (value) json[key] = *value;
  }
  if (with_roofs) json.update(ordered_json(report.rates));
  return json;
}

ordered_json report_json(const Report& report, bool with_operators) {
  const LatencyReport& latency = report.latency;
  ordered_json json{{"schema", kReportSchema},
                    {"request", request_json(report.request)},
                    {"model", {{"name", report.model_name}, {"parameters", report.parameters}}},
                    {"gpu", report.gpu_name},
                    {"predictor", report.predictor},
                    {"roofs", report.roofs},
                    {"assumed", report.assumed},
                    {"latency",
                     {{"total_ms", latency.total_ms},
                      {"low_ms", latency.low_ms},
                      {"high_ms", latency.high_ms},
                      {"forward_ms", latency.forward_ms},
                      {"backward_ms", latency.backward_ms},
                      {"optimizer_ms", latency.optimizer_ms},
                      {"communication_ms", latency.communication_ms},
                      {"exposed_communication_ms", latency.exposed_communication_ms}}},
                    {"rates", rates_json(report, with_operators)},
                    {"parts", parts_json(report.parts)},
                    {"bound", {{"total_ms", report.bound_total_ms}}},
                    {"flops", report.flops},
                    {"limiters", report.limiter_share},
                    {"memory", memory_json(report.memory)}};
  if (report.parallel) json["parallel"] = parallel_json(*report.parallel);
  if (with_operators) {
    json["operators"] = ordered_json::array();
    for (const OperatorReport& op : report.operators)
      json["operators"].push_back(operator_json(op));
    json["provenance"] = provenance_json(report.provenance);
  }
  json["warnings"] = report.warnings;
  return json;
}

}  // namespace

ordered_json operator_json(const OperatorReport& op) {
  ordered_json json{
      {"name", op.name},
      {"op", op.op},
      {"phase", op.phase},
      {"count", op.count},
      {"shape", op.shape},
      {"dtype", op.dtype},
      {"latency_ms", op.latency_ms},
      {"low_ms", op.low_ms},
      {"high_ms", op.high_ms},
      {"bound_ms", op.bound_ms},
      {"limiter", op.limiter},
      {"flops", op.flops},
      {"rate", op.rate},
      {"traffic_bytes", {{"l1", op.traffic.l1}, {"l2", op.traffic.l2}, {"dram", op.traffic.dram}}},
      {"tile", op.tile},
      {"waves", op.waves},
      {"wave_factor", op.wave_factor},
      {"provenance", op.provenance},
      {"extrapolated", op.extrapolated}};
  write_breakdown(op.breakdown, json);
  if (!op.algorithm.empty()) json["algorithm"] = op.algorithm;
  if (op.hidden_ms > 0) json["hidden_ms"] = op.hidden_ms;
  return json;
}

std::string to_json(const Report& report) {
  return json_text(report_json(report, true));
}

std::string compare_to_json(std::span<const Report> reports) {
  ordered_json json{{"schema", kReportSchema}, {"gpus", ordered_json::array()}};
  for (const Report& report : reports) json["gpus"].push_back(report_json(report, false));
  json["provenance"] = provenance_json(merged_provenance(reports));
  return json_text(json);
}

namespace {

/// Tracks of the trace: slices of the first one follow one another and add up to the step.
enum class Track : std::uint8_t { Step, Hidden };

ordered_json track_name(Track track, std::string_view name) {
  return {{"name", "thread_name"},
          {"ph", "M"},
          {"pid", 0},
          {"tid", static_cast<int>(track)},
          {"args", {{"name", name}}}};
}

ordered_json slice(std::string_view name, std::string_view category, Track track, double start_us,
                   double duration_us) {
  return {{"name", name},
          {"cat", category},
          {"ph", "X"},
          {"ts", start_us},
          {"dur", duration_us},
          {"pid", 0},
          {"tid", static_cast<int>(track)}};
}

ordered_json slice(const OperatorReport& op, Track track, double start_us, double duration_us) {
  ordered_json event = slice(op.name, op.phase, track, start_us, duration_us);
  event["args"] = {{"op", op.op},           {"shape", op.shape},
                   {"launches", op.count},  {"bound_ms", op.bound_ms},
                   {"limiter", op.limiter}, {"provenance", op.provenance}};
  return event;
}

}  // namespace

std::string to_chrome_trace(const Report& report) {
  ordered_json events = ordered_json::array();
  events.push_back(track_name(Track::Step, "step"));
  double start_us = 0, hidden_us = 0;
  for (const OperatorReport& op : report.operators) {
    const double duration_us = (op.latency_ms - op.hidden_ms) * 1e3;
    hidden_us += op.hidden_ms * 1e3;
    if (duration_us <= 0 && op.hidden_ms > 0) continue;
    events.push_back(slice(op, Track::Step, start_us, duration_us));
    start_us += duration_us;
  }
  if (hidden_us > 0) events.push_back(track_name(Track::Hidden, "hidden communication"));
  // Behind the last kernels, as gradients are.
  hidden_us = std::max(0.0, start_us - hidden_us);
  for (const OperatorReport& op : report.operators) {
    if (op.hidden_ms <= 0) continue;
    events.push_back(slice(op, Track::Hidden, hidden_us, op.hidden_ms * 1e3));
    hidden_us += op.hidden_ms * 1e3;
  }
  for (const PartReport* part : waiting_parts(report)) {
    if (part->latency_ms <= 0) continue;  // hidden communication has its track
    events.push_back(slice(part->name, "waiting", Track::Step, start_us, part->latency_ms * 1e3));
    start_us += part->latency_ms * 1e3;
  }
  const ordered_json trace{{"traceEvents", events},
                           {"displayTimeUnit", "ms"},
                           {"otherData",
                            {{"model", report.model_name},
                             {"gpu", report.gpu_name},
                             {"provenance", provenance_json(report.provenance)}}}};
  return json_text(trace, -1);
}

}  // namespace rooftile::report
