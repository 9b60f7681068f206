// SPDX-License-Identifier: Apache-2.0
//
// `rooftile compare`: the same step on several GPUs, one row each.
#include <fmt/format.h>
#include <fmt/ranges.h>

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
          .note = intervals ? "whiskers: 80 % interval" : ""};
}

std::string gpu_names(std::span<const Report> reports, bool fits) {
  std::vector<std::string> names;
  for (const Report& report : reports) {
    if (report.memory.fits == fits) names.push_back(report.request.gpu);
  }
  return fmt::format("{}", fmt::join(names, ", "));
}

bool faster(const Report& a, const Report& b) {
  return a.latency.total_ms < b.latency.total_ms;
}

/// The fastest GPU of those whose memory is enough, and which these are.
std::vector<Verdict> verdict_of(std::span<const Report> reports) {
  const auto lacks_room = [](const Report& report) { return !report.memory.fits.value_or(true); };
  const std::string fit = gpu_names(reports, true), others = gpu_names(reports, false);
  const Report* best = nullptr;
  for (const Report& report : reports) {
    if (best == nullptr || lacks_room(*best) > lacks_room(report) ||
        (lacks_room(*best) == lacks_room(report) && faster(report, *best)))
      best = &report;
  }
  std::vector<Verdict> verdict{
      {.text = fmt::format("fastest{}: {}, {}", others.empty() || fit.empty() ? "" : " that fits",
                           best->request.gpu, format_ms(best->latency.total_ms))}};
  if (!fit.empty()) verdict.push_back({.text = "fits: " + fit, .tone = Tone::Good});
  if (!others.empty()) verdict.push_back({.text = "does not fit: " + others, .tone = Tone::Bad});
  return verdict;
}

}  // namespace

Document describe(std::span<const Report> reports) {
  Document document;
  if (reports.empty()) return document;
  const Report& slowest = *std::max_element(reports.begin(), reports.end(), faster);
  document.title = workload(reports.front());
  document.verdict = verdict_of(reports);
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
