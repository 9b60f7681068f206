// SPDX-License-Identifier: Apache-2.0
//
// `rooftile compare`: the same step on several GPUs, one row each.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "core/text.h"
#include "report/describe.h"
#include "report/interval.h"
#include "report/lines.h"
#include "report/predict_json.h"
#include "report/provenance_view.h"

namespace rooftile::report {

namespace {

using nlohmann::ordered_json;

ordered_json gpu_row(const Report& report, double slowest) {
  ordered_json row = report_json(report, Operators::LeftOut);
  const auto most =
      std::max_element(report.limiter_share.begin(), report.limiter_share.end(),
                       [](const auto& a, const auto& b) { return a.second < b.second; });
  if (most != report.limiter_share.end()) {
    row["limiter"] = most->first;
    row["limiter_share"] = most->second;
  }
  row["relative_speed"] = slowest / report.latency.total_ms;
  return row;
}

std::vector<Column> compared_columns() {
  return {
      {.title = "GPU", .fields = {{"request/gpu"}}, .rank = Rank::Identity, .form = Form::Shown},
      {.title = "gpu", .fields = {{"gpu"}}, .form = Form::DataOnly},
      {.title = "step", .fields = {{"latency/total_ms", "total_ms"}}, .unit = Unit::Milliseconds},
      {.title = "80 % interval",
       .fields = {{"latency/low_ms", "low_ms"}, {"latency/high_ms", "high_ms"}},
       .unit = Unit::Milliseconds,
       .rank = Rank::Useful,
       .join = " - "},
      {.title = "bound",
       .fields = {{"bound/total_ms", "bound_ms"}},
       .unit = Unit::Milliseconds,
       .rank = Rank::Useful,
       .hint = "no implementation is faster"},
      {.title = "speed",
       .fields = {{"relative_speed"}},
       .unit = Unit::Factor,
       .hint = "of the slowest GPU"},
      {.title = "", .fields = {{"relative_speed"}}, .rank = Rank::Extra, .form = Form::Bar},
      {.title = "limited by",
       .fields = {{"limiter"}, {"limiter_share"}},
       .unit = Unit::Percent,
       .rank = Rank::Useful,
       .join = " "},
      {.title = "forward",
       .fields = {{"latency/forward_ms", "forward_ms"}},
       .unit = Unit::Milliseconds,
       .rank = Rank::Extra},
      {.title = "backward",
       .fields = {{"latency/backward_ms", "backward_ms"}},
       .unit = Unit::Milliseconds,
       .rank = Rank::Extra},
      {.title = "optimizer",
       .fields = {{"latency/optimizer_ms", "optimizer_ms"}},
       .unit = Unit::Milliseconds,
       .form = Form::DataOnly},
      {.title = "memory",
       .fields = {{"memory/total_bytes", "memory_bytes"}},
       .unit = Unit::Bytes,
       .rank = Rank::Detail},
      {.title = "capacity",
       .fields = {{"memory/capacity_bytes", "capacity_bytes"}},
       .unit = Unit::Bytes,
       .rank = Rank::Extra},
      {.title = "fits", .fields = {{"memory/fits", "fits"}}},
      {.title = "communication",
       .fields = {{"latency/communication_ms", "communication_ms"}},
       .unit = Unit::Milliseconds,
       .form = Form::DataOnly},
      {.title = "exposed",
       .fields = {{"latency/exposed_communication_ms", "exposed_communication_ms"}},
       .unit = Unit::Milliseconds,
       .form = Form::DataOnly}};
}

std::string fits_text(const MemoryReport& memory) {
  if (!memory.fits) return "";
  return fmt::format("{}: {} of {}", *memory.fits ? "fits" : "does not fit",
                     format_bytes(Bytes::from_base(memory.total_bytes)),
                     format_bytes(Bytes::from_base(*memory.capacity_bytes)));
}

BarChart step_bars(std::span<const Report> reports) {
  ordered_json rows = ordered_json::array();
  bool intervals = false;
  for (const Report& report : reports) {
    const LatencyReport& latency = report.latency;
    ordered_json row{{"label", report.request.gpu},
                     {"time_ms", latency.total_ms},
                     {"bound_ms", report.bound_total_ms},
                     {"remark", fits_text(report.memory)},
                     {"tone", report.memory.fits.value_or(true) ? "good" : "bad"}};
    if (states_interval(latency.low_ms, latency.high_ms)) {
      row["low_ms"] = latency.low_ms;
      row["high_ms"] = latency.high_ms;
      intervals = true;
    }
    rows.push_back(std::move(row));
  }
  return {.title = "Time of the step",
          .axis = "step",
          .unit = Unit::Milliseconds,
          .rows = {.own = std::move(rows)},
          .label = "label",
          .series = {{.name = "step", .at = "time_ms", .low = "low_ms", .high = "high_ms"}},
          .mark = "bound_ms",
          .mark_name = "bound",
          .remark = "remark",
          .tone = "tone",
          .note = intervals ? "whiskers: 80 % interval; tick: no implementation is faster"
                            : "tick: no implementation is faster"};
}

}  // namespace

Document describe(std::span<const Report> reports) {
  Document document;
  if (reports.empty()) return document;
  const auto by_time = [](const Report& a, const Report& b) {
    return a.latency.total_ms < b.latency.total_ms;
  };
  const Report& slowest = *std::max_element(reports.begin(), reports.end(), by_time);
  const Report& fastest = *std::min_element(reports.begin(), reports.end(), by_time);
  document.title = workload(reports.front());
  document.verdict = {{.text = fmt::format("fastest: {}, {}", fastest.request.gpu,
                                           format_ms(fastest.latency.total_ms))}};
  if (fastest.memory.fits)
    document.verdict.push_back(
        {.text = fits_text(fastest.memory), .tone = *fastest.memory.fits ? Tone::Good : Tone::Bad});
  ordered_json json{{"schema", 1}, {"gpus", ordered_json::array()}};
  for (const Report& report : reports) {
    json["gpus"].push_back(gpu_row(report, slowest.latency.total_ms));
    for (const std::string& warning : report.warnings)
      document.warnings.push_back({.text = warning, .subject = report.gpu_name});
  }
  document.provenance = merged_provenance(reports);
  json["provenance"] = provenance_json(*document.provenance);
  document.data = std::move(json);
  document.sections.emplace_back(Figure(step_bars(reports)));
  document.sections.emplace_back(
      Table{.kind = "gpu", .rows = {.at = "/gpus"}, .columns = compared_columns()});
  if (reports.front().predictor == "bound")
    document.sections.emplace_back(Note{.lines = {"Times are lower bounds (provenance: bound)."}});
  return document;
}

}  // namespace rooftile::report
