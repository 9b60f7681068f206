// SPDX-License-Identifier: Apache-2.0
//
// `rooftile predict --replay`: does a report come out again, and if not, what is different.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "core/provenance.h"
#include "report/describe.h"
#include "report/lines.h"
#include "report/replay.h"

namespace rooftile::report {

namespace {

using nlohmann::ordered_json;

constexpr std::size_t kMostDifferences = 10;

ordered_json replay_json(const ReplayReport& report) {
  ordered_json json{{"schema", 1},
                    {"report", report.file},
                    {"reproduced", report.reproduced()},
                    {"total_ms", {{"then", report.then_ms}, {"now", report.now_ms}}},
                    {"changes", report.changes},
                    {"differences", ordered_json::array()}};
  for (const ReplayDifference& one : report.differences)
    json["differences"].push_back({{"pointer", one.pointer}, {"then", one.then}, {"now", one.now}});
  json["provenance"] = provenance_json(report.provenance);
  json["warnings"] = report.warnings;
  return json;
}

}  // namespace

Document describe(const ReplayReport& report) {
  Document document;
  document.data = replay_json(report);
  if (report.reproduced()) {
    document.title = fmt::format("reproduced: {}", format_ms(report.now_ms));
    document.subtitle = fmt::format("{} ms, as {} says", report.now_ms, report.file);
    document.verdict = {{.text = document.title, .tone = Tone::Good}};
  } else {
    const bool same_total = report.now_ms == report.then_ms;
    document.title = same_total ? fmt::format("not reproduced: {} as then, other values differ",
                                              format_ms(report.now_ms))
                                : fmt::format("not reproduced: {} now, {} then",
                                              format_ms(report.now_ms), format_ms(report.then_ms));
    document.subtitle =
        fmt::format("{} ms, {} ms in {}", report.now_ms, report.then_ms, report.file);
    document.verdict = {{.text = document.title, .tone = Tone::Bad}};
  }
  if (!report.changes.empty())
    document.sections.emplace_back(Note{.title = "changed", .lines = report.changes, .list = true});
  if (!report.reproduced()) {
    if (report.changes.empty()) {
      document.sections.emplace_back(
          Note{.lines = {"Version, commit and inputs are the same: the report was edited, or the "
                         "program was built from changes that its commit does not contain."}});
    }
    document.sections.emplace_back(Table{
        .kind = "difference",
        .title =
            report.differences.size() > kMostDifferences
                ? fmt::format("{} values differ, these are the first", report.differences.size())
                : std::string(),
        .rows = {.at = "/differences"},
        .columns = {{.title = "value", .fields = {{"pointer"}}, .rank = Rank::Identity},
                    {.title = "then", .fields = {{"then"}}, .form = Form::Prose},
                    {.title = "now", .fields = {{"now"}}, .form = Form::Prose}},
        .top = kMostDifferences,
        .indent = 2});
  }
  document.warnings = warnings_of(report.warnings);
  document.provenance = report.provenance;
  return document;
}

}  // namespace rooftile::report
