// SPDX-License-Identifier: Apache-2.0
#include "report/replay_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/utf8.h"
#include "report/json_text.h"
#include "report/provenance_view.h"
#include "report/table.h"

namespace rooftile::report {

namespace {

constexpr std::size_t kMostShown = 10;

std::string differences_text(const ReplayReport& report, int width) {
  Table table({{.title = "value", .shrink = true},
               {.title = "then", .align = Align::Right},
               {.title = "now", .align = Align::Right}});
  const auto cell = [](const std::string& value) {
    return value.empty() ? std::string("-") : visible(value);
  };
  const std::size_t shown = std::min(report.differences.size(), kMostShown);
  for (std::size_t i = 0; i < shown; ++i) {
    const ReplayDifference& one = report.differences[i];
    table.add({visible(one.pointer), cell(one.then), cell(one.now)});
  }
  std::string text = "\n" + table.render(width, 2);
  if (shown < report.differences.size()) {
    text += fmt::format("  ({} values differ, these are the first)\n", report.differences.size());
  }
  return text;
}

}  // namespace

std::string replay_to_text(const ReplayReport& report, int width, bool color) {
  std::string text;
  if (report.reproduced()) {
    text = bold(fmt::format("reproduced: {}", format_ms(report.now_ms)), color);
    text += fmt::format(" ({} ms, as {} says)\n", report.now_ms, visible(report.file));
  } else {
    text = bold(fmt::format("not reproduced: {} now, {} then", format_ms(report.now_ms),
                            format_ms(report.then_ms)),
                color);
    text +=
        fmt::format(" ({} ms, {} ms in {})\n", report.now_ms, report.then_ms, visible(report.file));
  }
  for (const std::string& change : report.changes) {
    text += labelled("changed", change, width, color);
  }
  if (!report.reproduced()) {
    if (report.changes.empty()) {
      text += labelled("note",
                       "version, commit and inputs are the same: the report was edited, "
                       "or made by a program that its commit does not describe",
                       width, color);
    }
    text += differences_text(report, width);
  }
  for (const std::string& warning : report.warnings) {
    text += labelled("warning", warning, width, color);
  }
  return text + "\n" + provenance_to_text(report.provenance, color);
}

std::string replay_to_json(const ReplayReport& report) {
  using nlohmann::ordered_json;
  ordered_json json{{"schema", 1},
                    {"report", report.file},
                    {"reproduced", report.reproduced()},
                    {"total_ms", {{"then", report.then_ms}, {"now", report.now_ms}}},
                    {"changes", report.changes},
                    {"differences", ordered_json::array()}};
  for (const ReplayDifference& one : report.differences) {
    json["differences"].push_back({{"pointer", one.pointer}, {"then", one.then}, {"now", one.now}});
  }
  json["provenance"] = provenance_json(report.provenance);
  json["warnings"] = report.warnings;
  return json_text(json);
}

}  // namespace rooftile::report
