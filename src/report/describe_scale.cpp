// SPDX-License-Identifier: Apache-2.0
//
// `rooftile scale`: variants of a GPU, their speed-up, and where the time goes then.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "core/provenance.h"
#include "report/describe.h"
#include "report/interval.h"
#include "report/lines.h"
#include "report/scale_json.h"
#include "report/svg.h"
#include "rooftile/scale.h"

namespace rooftile::report {

namespace {

using nlohmann::ordered_json;

std::string step_path(std::size_t step, std::string_view rest) {
  return fmt::format("/steps/{}/{}", step, rest);
}

Column step_column(const ScaleStep& step) {
  return {.title = "step", .fields = {{"", "step"}}, .form = Form::DataOnly, .constant = step.name};
}

/// `at`: where the variant is in its row, "" or "variant/".
std::vector<Column> variant_columns(const ScaleStep& step, const std::string& at) {
  const auto field = [&](const char* name, const char* csv = "") {
    return std::vector<Field>{{at + name, *csv != 0 ? csv : name}};
  };
  return {step_column(step),
          {.title = "machine", .fields = field("name", "factors"), .rank = Rank::Identity},
          {.title = "time", .fields = field("time_ms"), .unit = Unit::Milliseconds},
          {.title = "80 % interval",
           .fields = {{at + "low_ms", "low_ms"}, {at + "high_ms", "high_ms"}},
           .unit = Unit::Milliseconds,
           .rank = Rank::Extra,
           .join = " - "},
          {.title = "speed-up", .fields = field("speedup"), .unit = Unit::Factor},
          {.title = "its 80 % interval",
           .fields = {{at + "speedup_low", "speedup_low"}, {at + "speedup_high", "speedup_high"}},
           .unit = Unit::Factor,
           .rank = Rank::Useful,
           .join = " - "},
          {.title = "cost",
           .fields = field("cost"),
           .unit = Unit::Decimals,
           .rank = Rank::Useful,
           .hint = "in units of the GPU as it is"},
          {.title = "limiter", .fields = field("limiter"), .form = Form::DataOnly},
          {.title = "time by limiter",
           .fields = field("share", "share_by_limiter"),
           .unit = Unit::Percent,
           .rank = Rank::Useful,
           .form = Form::Prose},
          {.title = "host", .fields = field("host_ms"), .form = Form::DataOnly}};
}

void add_variants(const ScaleStep& step, std::size_t index, Document& document) {
  document.sections.emplace_back(
      Table{.kind = "variant",
            .rows = {.at = step_path(index, "variants"), .first = step_path(index, "base")},
            .columns = variant_columns(step, ""),
            .indent = 2});
  if (step.balanced.empty()) return;
  std::vector<Column> columns = variant_columns(step, "variant/");
  columns[1].title = "cheapest set";
  columns[1].rank = Rank::Essential;
  columns[1].form = Form::Prose;
  columns.insert(
      columns.begin() + 1,
      {.title = "target", .fields = {{"target"}}, .unit = Unit::Factor, .rank = Rank::Identity});
  columns.push_back({.title = "reached", .fields = {{"reached"}}, .form = Form::DataOnly});
  document.sections.emplace_back(Table{.kind = "optimum",
                                       .rows = {.at = step_path(index, "balanced")},
                                       .columns = std::move(columns),
                                       .indent = 2});
  const bool unreached = std::any_of(step.balanced.begin(), step.balanced.end(),
                                     [](const auto& entry) { return !entry.second; });
  if (unreached)
    document.sections.emplace_back(
        Note{.lines = {"Targets without a set cannot be reached with factors up to 8."}});
}

void add_layers(const ScaleStep& step, std::size_t index, Document& document) {
  if (step.layers.empty()) return;
  ordered_json host = ordered_json::array();
  const double after = step.variants.front().host_ms;
  if (step.base.host_ms > 0 || after > 0)
    host.push_back({{"name", "host"},
                    {"count", 1},
                    {"base_ms", step.base.host_ms},
                    {"time_ms", after},
                    {"base_limiter", "host"},
                    {"limiter", "host"}});
  document.sections.emplace_back(Table{
      .kind = "layer",
      .rows = {.at = step_path(index, "layers")},
      .columns =
          {step_column(step),
           {.title = "layer", .fields = {{"name", "layer"}}, .rank = Rank::Identity},
           {.title = "factors",
            .fields = {{"", "factors"}},
            .form = Form::DataOnly,
            .constant = variant_name(step.variants.front())},
           {.title = "x", .fields = {{"count"}}, .unit = Unit::Count},
           {.title = "shape", .fields = {{"shape"}}, .rank = Rank::Extra, .form = Form::Shape},
           {.title = "before",
            .fields = {{"base_ms"}},
            .unit = Unit::Milliseconds,
            .rank = Rank::Useful},
           {.title = "after", .fields = {{"time_ms"}}, .unit = Unit::Milliseconds},
           {.title = "speed-up", .fields = {{"speedup"}}, .unit = Unit::Factor},
           {.title = "limiter", .fields = {{"base_limiter"}}, .rank = Rank::Useful},
           {.title = "then", .fields = {{"limiter"}}},
           {.title = "gains most from",
            .fields = {{"gains_most/resource"}, {"gains_most/speedup_at_2x"}},
            .unit = Unit::Factor,
            .rank = Rank::Detail,
            .form = Form::Shown,
            .join = " x2: "},
           {.title = "algorithm",
            .fields = {{"base_algorithm"}, {"algorithm"}},
            .rank = Rank::Extra,
            .join = ", then "}},
      .more = std::move(host),
      .indent = 2});
}

std::vector<Column> balance_columns(const ScaleStep& step, const std::string& layer) {
  return {step_column(step),
          {.title = "layer", .fields = {{"", "layer"}}, .form = Form::DataOnly, .constant = layer},
          {.title = "one resource alone", .fields = {{"resource"}}, .rank = Rank::Identity},
          {.title = "gains up to",
           .fields = {{"factor"}},
           .unit = Unit::Factor,
           .hint = "beyond it, twice as much gains less than 5 %"},
          {.title = "speed-up there", .fields = {{"speedup"}}, .unit = Unit::Factor},
          {.title = "with twice as much",
           .fields = {{"speedup_at_2x"}},
           .unit = Unit::Factor,
           .rank = Rank::Useful}};
}

void add_balance(const ScaleStep& step, std::size_t index, Document& document) {
  document.sections.emplace_back(Table{.kind = "balance",
                                       .rows = {.at = step_path(index, "balance")},
                                       .columns = balance_columns(step, ""),
                                       .indent = 2});
  if (!step.balance.empty())
    document.sections.emplace_back(Note{
        .lines = {"1.00x: twice as much gains less than 5 %; 16x is the largest factor tried."}});
  for (std::size_t i = 0; i < step.layers.size(); ++i) {
    if (step.layers[i].balance.empty()) continue;
    document.sections.emplace_back(
        Table{.kind = "balance",
              .rows = {.at = step_path(index, fmt::format("layers/{}/balance", i))},
              .columns = balance_columns(step, step.layers[i].name),
              .shown = false});
  }
}

/// One row per resource with a bar per factor, where every variant changes a single resource; else
/// a row per variant.
BarChart speedup_chart(const ScaleStep& step) {
  const bool alone = !step.variants.empty() &&
                     std::all_of(step.variants.begin(), step.variants.end(),
                                 [](const ScaleVariant& v) { return v.factors.size() == 1; });
  ordered_json rows = ordered_json::array();
  BarChart chart{.title = "Speed-up of " + step.name,
                 .axis = "speed-up",
                 .unit = Unit::Factor,
                 .rows = {},
                 .label = "label",
                 .series = {},
                 .lines = {{.value = 1, .text = "as it is"}},
                 .note = "whiskers: 80 % interval"};
  const auto put = [&](const std::string& label, const std::string& series,
                       const ScaleVariant& variant) {
    if (std::none_of(chart.series.begin(), chart.series.end(),
                     [&](const BarSeries& one) { return one.name == series; })) {
      chart.series.push_back(
          {.name = series,
           .at = series,
           .low = series + "_low",
           .high = series + "_high",
           .color = std::string(kCurveColors[chart.series.size() % kCurveColors.size()])});
    }
    auto row = std::find_if(rows.begin(), rows.end(),
                            [&](const ordered_json& one) { return one["label"] == label; });
    if (row == rows.end()) {
      rows.push_back({{"label", label}, {"members", ordered_json::array()}});
      row = rows.end() - 1;
    }
    (*row)["members"].push_back(variant_name(variant));  // what a page searches and marks
    (*row)[series] = variant.speedup;
    if (!states_interval(variant.speedup_low, variant.speedup_high)) return;
    (*row)[series + "_low"] = variant.speedup_low;
    (*row)[series + "_high"] = variant.speedup_high;
  };
  for (const ScaleVariant& variant : step.variants) {
    if (alone) {
      const auto& [resource, factor] = *variant.factors.begin();
      put(resource, fmt::format("x{:g}", factor), variant);
    } else {
      put(variant_name(variant), "speed-up", variant);
    }
  }
  for (const auto& [target, variant] : step.balanced) {
    if (variant && !alone) put(variant_name(*variant), "speed-up", *variant);
  }
  chart.rows.own = std::move(rows);
  return chart;
}

std::vector<Verdict> verdict_of(const ScaleReport& report) {
  std::vector<Verdict> verdict;
  for (const ScaleStep& step : report.steps) {
    const auto add = [&](const ScaleVariant& variant) {
      verdict.push_back({.text = fmt::format("{}: {:.2f}x with {}", step.name, variant.speedup,
                                             variant_name(variant))});
    };
    const auto best = std::max_element(
        step.variants.begin(), step.variants.end(),
        [](const ScaleVariant& a, const ScaleVariant& b) { return a.speedup < b.speedup; });
    if (best != step.variants.end()) {
      add(*best);
      continue;
    }
    for (const auto& [target, variant] : step.balanced) {  // --optimize
      if (variant) add(*variant);
    }
  }
  return verdict;
}

}  // namespace

Document describe(const ScaleReport& report) {
  Document document;
  document.title =
      report.steps.size() == 1
          ? fmt::format("{} on variants of {}", report.steps.front().name, report.gpu_name)
          : fmt::format("{} steps on variants of {}", report.steps.size(), report.gpu_name);
  document.verdict = verdict_of(report);
  document.data = scale_json(report);
  for (std::size_t i = 0; i < report.steps.size(); ++i) {
    const ScaleStep& step = report.steps[i];
    if (report.steps.size() > 1) document.sections.emplace_back(Note{.lines = {step.name}});
    BarChart chart = speedup_chart(step);
    if (!chart.series.empty()) document.sections.emplace_back(Figure(std::move(chart)));
    add_variants(step, i, document);
    add_layers(step, i, document);
    add_balance(step, i, document);
  }
  document.warnings = warnings_of(report.warnings);
  document.warning_label = "note";
  document.provenance = report.provenance;
  return document;
}

}  // namespace rooftile::report
