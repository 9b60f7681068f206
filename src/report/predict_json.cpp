// SPDX-License-Identifier: Apache-2.0
#include "report/predict_json.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <nlohmann/json.hpp>
#include <span>
#include <utility>

#include "core/provenance.h"
#include "core/text.h"
#include "report/breakdown.h"
#include "report/request_json.h"

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
          {"ep", parallel.ep},
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

/// "on 8 GPUs (dp 2, tp 4)"
std::string sharing(const ParallelReport& parallel) {
  std::vector<std::string> parts;
  for (const auto& [name, ways] :
       {std::pair("dp", parallel.dp), std::pair("tp", parallel.tp), std::pair("pp", parallel.pp),
        std::pair("ep", parallel.ep), std::pair("micro-batches", parallel.microbatches)}) {
    if (ways > 1) parts.push_back(fmt::format("{} {}", name, ways));
  }
  return fmt::format("{} GPU{} ({})", parallel.gpus, parallel.gpus > 1 ? "s" : "",
                     fmt::join(parts, ", "));
}

ordered_json throughput_json(const ThroughputReport& t) {
  ordered_json json = ordered_json::object();
  for (const auto& [key, value] :
       {std::pair("tokens_per_s", t.tokens_per_s),
        std::pair("tokens_per_s_per_gpu", t.tokens_per_s_per_gpu),
        std::pair("images_per_s", t.images_per_s), std::pair("mfu", t.mfu), std::pair("mbu", t.mbu),
        std::pair("energy_per_token_j", t.energy_per_token_j)}) {
    if (value) json[key] = *value;
  }
  return json;
}

}  // namespace

ordered_json report_json(const Report& report, Operators operators) {
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
                    {"rates", throughput_json(report.throughput)},
                    {"parts", parts_json(report.parts)},
                    {"bound", {{"total_ms", report.bound_total_ms}}},
                    {"flops", report.flops},
                    {"limiters", report.limiter_share},
                    {"memory", memory_json(report.memory)}};
  if (report.parallel) json["parallel"] = parallel_json(*report.parallel);
  if (operators == Operators::Listed) {
    ordered_json& list = json["operators"] = ordered_json::array();
    for (const OperatorReport& op : report.operators) {
      list.push_back(operator_json(op));
      list.back()["share"] = op.latency_ms / latency.total_ms;
      list.back()["layers"] = op.layers;
    }
    json["rates"].update(ordered_json(report.rates));
    json["provenance"] = provenance_json(report.provenance);
  }
  json["warnings"] = report.warnings;
  return json;
}

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

std::vector<Column> operator_columns(OperatorColumns which) {
  const bool step = which == OperatorColumns::OfStep;
  std::vector<Column> columns{
      {.title = "operator", .fields = {{"name"}}, .rank = Rank::Identity},
      {.title = "kernel", .fields = {{"op"}}, .rank = Rank::Useful},
      {.title = "phase", .fields = {{"phase"}}, .unit = Unit::Phase, .rank = Rank::Useful},
      {.title = "n",
       .fields = {{"count"}},
       .unit = Unit::Count,
       .rank = Rank::Useful,
       .hint = "launches in the step"},
      {.title = "shape", .fields = {{"shape"}}, .rank = Rank::Detail, .form = Form::Shape},
      {.title = "dtype", .fields = {{"dtype"}}, .rank = Rank::Extra},
      {.title = "time",
       .fields = {{"latency_ms"}},
       .unit = Unit::Milliseconds,
       .hint = "all launches together",
       .sum = true},
      {.title = "80 % interval",
       .fields = {{"low_ms"}, {"high_ms"}},
       .unit = Unit::Milliseconds,
       .rank = Rank::Extra,
       .join = " - "}};
  if (step) {
    columns.push_back({.title = "share",
                       .fields = {{"share"}},
                       .unit = Unit::Fraction,
                       .hint = "of the step",
                       .sum = true});
    columns.push_back(
        {.title = "", .fields = {{"latency_ms"}}, .rank = Rank::Detail, .form = Form::Bar});
  }
  const std::vector<Column> rest{
      {.title = "bound",
       .fields = {{"bound_ms"}},
       .unit = Unit::Milliseconds,
       .rank = Rank::Extra,
       .hint = "no implementation is faster"},
      {.title = "limiter", .fields = {{"limiter"}}, .hint = "the longest term of the time"},
      {.title = "tile", .fields = {{"tile"}}, .rank = Rank::Detail},
      {.title = "waves", .fields = {{"waves"}}, .unit = Unit::Number, .rank = Rank::Detail},
      {.title = "FLOPs", .fields = {{"flops"}}, .unit = Unit::Flops, .rank = Rank::Extra},
      {.title = "DRAM",
       .fields = {{"traffic_bytes/dram", "dram_bytes"}},
       .unit = Unit::Bytes,
       .rank = Rank::Extra},
      {.title = "L2",
       .fields = {{"traffic_bytes/l2", "l2_bytes"}},
       .unit = Unit::Bytes,
       .rank = Rank::Extra},
      {.title = "L1",
       .fields = {{"traffic_bytes/l1", "l1_bytes"}},
       .unit = Unit::Bytes,
       .rank = Rank::Extra},
      {.title = "wave factor",
       .fields = {{"wave_factor"}},
       .unit = Unit::Number,
       .form = Form::DataOnly},
      {.title = "from", .fields = {{"provenance"}}, .rank = Rank::Extra},
      {.title = "extrapolated", .fields = {{"extrapolated"}}, .form = Form::DataOnly},
      {.title = "algorithm", .fields = {{"algorithm"}}, .rank = Rank::Extra}};
  columns.insert(columns.end(), rest.begin(), rest.end());
  return columns;
}

std::vector<const PartReport*> waiting_parts(const Report& report) {
  std::vector<const PartReport*> parts;
  for (const PartReport& part : report.parts) {
    const bool listed = part.name == "kernels" || part.name == "communication";
    if (!listed && part.latency_ms != 0) parts.push_back(&part);
  }
  return parts;
}

std::string fits_text(const MemoryReport& memory) {
  if (!memory.fits) return "";
  return fmt::format("{}: {} of {}", *memory.fits ? "fits" : "does not fit",
                     format_bytes(Bytes::from_base(memory.total_bytes)),
                     format_bytes(Bytes::from_base(*memory.capacity_bytes)));
}

std::string workload(const Report& report) {
  const Request& request = report.request;
  std::string text =
      fmt::format("{}, {}, batch {}", report.model_name, request.phase, request.batch);
  if (request.sequence) text += fmt::format(" x {} tokens", *request.sequence);
  if (request.phase == "decode" && request.context) {
    text += fmt::format(" ({} tokens in the cache)", *request.context);
  }
  text += fmt::format(", {}", request.dtype);
  if (request.stack != "eager") text += fmt::format(", {}", request.stack);
  if (request.attention != "auto") text += fmt::format(", {} attention", request.attention);
  if (request.fusion != "auto")
    text += request.fusion == "compile" ? ", compiled" : ", nothing fused";
  if (report.parallel) text += ", " + sharing(*report.parallel);
  return text;
}

}  // namespace rooftile::report
