// SPDX-License-Identifier: Apache-2.0
//
// `rooftile roofline`: measured kernels under the roofs of their machine. The two views differ in
// the table of kernels: intensities and rates, or the times that FLOPs, bytes and launches need,
//   T >= max(FLOPs / peak, bytes / bandwidth, launches * overhead)  [arXiv 2009.04598]
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "core/number_of.h"
#include "core/operations.h"
#include "core/text.h"
#include "report/describe.h"
#include "report/lines.h"
#include "report/roofline_json.h"
#include "report/roofline_words.h"

namespace rooftile::report {

namespace {

using hardware::MemoryLevel;
using nlohmann::ordered_json;

/// " at the profile's 1306 MHz (--boost: 1530 MHz)"
std::string clock_words(const roofline::Roofs& roofs) {
  if (!roofs.clock || !roofs.boost) return "";
  return fmt::format(" at the profile's {:.0f} MHz (--boost: {:.0f} MHz)",
                     roofs.clock->base() * 1e-6, roofs.boost->base() * 1e-6);
}

std::string roofs_text(const roofline::Chart& chart) {
  std::string text;
  for (const roofline::MemoryRoof& roof : chart.roofs.memory) {
    text +=
        fmt::format("{}{} {}", text.empty() ? "" : ", ", roof.name, format_rate(roof.bandwidth));
  }
  for (const roofline::ComputeRoof& roof : chart.roofs.compute) {
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", name_of(roof.key),
                        format_rate(roof.rate, roof.key.dtype, 3));
  }
  return fmt::format("{} ({}{}{})", text, chart.roofs.provenance(),
                     chart.roofs.machine.empty() ? "" : " of " + chart.roofs.machine,
                     clock_words(chart.roofs));
}

std::string total_text(const roofline::Chart& chart) {
  const roofline::Total& total = chart.total;
  std::string text = fmt::format("{}, {}", number_of(total.kernels, "kernel"),
                                 number_of(total.launches, "launch"));
  if (total.timed) text += ", " + format_ms(to_ms(total.time));
  const std::string_view bound = at_least(total.flops_complete);
  if (total.flops)
    text += fmt::format(", {}{}", bound, operations_text(*total.flops, operations_of(chart), 4));
  if (const auto rate = total.rate()) {
    text += ", ";
    text += bound;
    text += chart.binary_units
                ? fmt::format("{} {}", per_second(chart_gflops(chart, *rate)), rate_unit(chart))
                : operations_text(Flops::from_base(rate->base()), operations_of(chart), 4) + "/s";
  }
  return text;
}

/// How long each run took, and which kernel changed most.
std::vector<Verdict> comparison_verdict(const roofline::Chart& chart) {
  std::vector<std::string> times;
  for (const roofline::Phase& run : chart.phases)
    times.push_back(fmt::format("{} {}", run.label, format_ms(to_ms(run.total.time))));
  std::vector<Verdict> verdict{{.text = fmt::format("{}", fmt::join(times, ", "))}};
  if (!chart.comparison->kernels.empty()) {
    const roofline::Difference& most = chart.comparison->kernels.front();
    verdict.push_back(
        {.text = fmt::format("largest change: {} {}", most.short_name,
                             shown(ordered_json(to_ms(most.delta)), Unit::SignedMilliseconds))});
  }
  return verdict;
}

/// What was measured, and where most of its time goes.
std::vector<Verdict> verdict_of(const roofline::Chart& chart) {
  if (chart.comparison && chart.total.timed) return comparison_verdict(chart);
  std::vector<Verdict> verdict{{.text = total_text(chart)}};
  std::map<std::string, double> share;
  for (const roofline::Point& point : chart.points) {
    if (!point.limiter.empty()) share[point.limiter] += point.time_fraction;
  }
  const auto most = std::max_element(
      share.begin(), share.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  if (most != share.end() && most->second > 0)
    verdict.push_back({.text = fmt::format("{:.0f} % of the time in kernels limited by {}",
                                           100 * most->second, most->first)});
  return verdict;
}

std::string total_intensities(const roofline::Chart& chart) {
  std::string levels;
  for (const MemoryLevel level : hardware::kMemoryLevels) {
    if (const auto intensity = chart.total.intensity(level)) {
      levels += fmt::format("{}{} {}{:.4g}", levels.empty() ? "" : ", ", name_of(level),
                            at_least(chart.total.flops_complete), intensity->base());
    }
  }
  return levels;
}

Facts total_facts(const roofline::Chart& chart) {
  Facts facts;
  if (!chart.roofs.memory.empty() || !chart.roofs.compute.empty())
    facts.rows.push_back({"roofs", roofs_text(chart)});
  if (chart.points.empty()) return facts;
  facts.rows.push_back({"total", total_text(chart)});
  if (const std::string levels = total_intensities(chart); !levels.empty())
    facts.rows.push_back({"intensity", fmt::format("{}, {}/byte", levels, operations_of(chart))});
  std::string census = census_text(chart.total);  // "zero-AI: ..."
  facts.rows.push_back({"zero-AI", census.substr(census.find(": ") + 2)});
  return facts;
}

/// What all kernels have, whatever the view; the run only where there are several.
std::vector<Column> kernel_identity(const roofline::Chart& chart) {
  std::vector<Column> columns{
      {.title = "kernel", .fields = {{"short_name"}}, .rank = Rank::Identity},
      {.title = "name", .fields = {{"name"}}, .form = Form::DataOnly},
      {.title = "phase",
       .fields = {{"phase"}},
       .rank = Rank::Essential,
       .form = chart.phases.size() > 1 ? Form::Prose : Form::DataOnly},
      {.title = "launches", .fields = {{"launches"}}, .unit = Unit::Count, .rank = Rank::Useful}};
  return columns;
}

/// Columns of data that no view shows.
std::vector<Column> kernel_data() {
  std::vector<Column> columns;
  const auto add = [&](std::string at, std::string name = {}) {
    columns.push_back({.title = at, .fields = {{at, std::move(name)}}, .form = Form::DataOnly});
  };
  add("flops");
  for (const char* level : {"l1", "l2", "dram"})
    add(fmt::format("bytes/{}", level), fmt::format("{}_bytes", level));
  add("compute_roof");
  add("limiter");
  add("bound_ms");
  add("flops_complete");
  add("above_roof");
  add("predicted/time_ms");
  return columns;
}

std::vector<Column> rate_columns(const roofline::Chart& chart) {
  return {{.title = "time",
           .fields = {{"time_ms"}},
           .unit = Unit::Milliseconds,
           .hint = "of all launches"},
          {.title = "share",
           .fields = {{"time_fraction"}},
           .unit = Unit::Fraction,
           .hint = "of the time of the chart",
           .sum = true},
          {.title = "AI L1/L2/DRAM",
           .fields = {{"intensity/l1", "l1_intensity"},
                      {"intensity/l2", "l2_intensity"},
                      {"intensity/dram", "dram_intensity"}},
           .unit = Unit::Number,
           .rank = Rank::Useful,
           .hint = "arithmetic intensity, operations per byte",
           .lower_bound = "flops_complete"},
          {.title = rate_unit(chart),
           .fields = {{"gflops"}},
           .unit = Unit::Number,
           .rank = Rank::Useful,
           .lower_bound = "flops_complete"},
          {.title = "limiter", .fields = {{"limiting_roof"}}, .hint = "the roof that bounds it"},
          {.title = "of roof",
           .fields = {{"fraction_of_roof"}},
           .unit = Unit::Fraction,
           .hint = "bound / measured time",
           .lower_bound = "flops_complete",
           .starred = "above_roof"}};
}

std::vector<Column> time_columns(const roofline::Chart& chart) {
  const auto term = [](std::string title, const char* at, std::string bound = {}) {
    return Column{.title = std::move(title),
                  .fields = {{at}},
                  .unit = Unit::Milliseconds,
                  .rank = Rank::Useful,
                  .lower_bound = std::move(bound)};
  };
  return {term(fmt::format("{} time", operations_of(chart)), "terms/compute_ms", "flops_complete"),
          term("L1 time", "terms/l1_ms"),
          term("L2 time", "terms/l2_ms"),
          term("DRAM time", "terms/dram_ms"),
          term("launch", "terms/launch_ms"),
          {.title = "measured", .fields = {{"time_ms"}}, .unit = Unit::Milliseconds},
          {.title = "ideal/measured",
           .fields = {{"needed_fraction"}},
           .unit = Unit::Fraction,
           .lower_bound = "flops_complete",
           .starred = "above_roof"}};
}

Table kernels_table(const roofline::Chart& chart, RooflineView view,
                    const DescribeOptions& options) {
  std::vector<Column> columns = kernel_identity(chart);
  for (Column& column : view == RooflineView::TimeBased ? time_columns(chart) : rate_columns(chart))
    columns.push_back(std::move(column));
  for (Column& column : kernel_data()) columns.push_back(std::move(column));
  return {.kind = "kernel",
          .title = "kernels",
          .rows = {.at = "/kernels"},
          .columns = std::move(columns),
          .top = options.top};
}

/// Times and DRAM bytes of the kernels whose shapes are known, next to the measured ones.
Table predictions_table(const DescribeOptions& options) {
  return {
      .kind = "prediction",
      .title = "predicted",
      .rows = {.at = "/kernels"},
      .columns =
          {{.title = "kernel", .fields = {{"short_name"}}, .rank = Rank::Identity},
           {.title = "shape",
            .fields = {{"predicted/shape"}},
            .rank = Rank::Useful,
            .form = Form::Shape},
           {.title = "measured", .fields = {{"predicted/measured_ms"}}, .unit = Unit::Milliseconds},
           {.title = "predicted", .fields = {{"predicted/time_ms"}}, .unit = Unit::Milliseconds},
           {.title = "80 % interval",
            .fields = {{"predicted/low_ms"}, {"predicted/high_ms"}},
            .unit = Unit::Milliseconds,
            .rank = Rank::Extra,
            .join = " - "},
           {.title = "ratio",
            .fields = {{"predicted/time_ratio"}},
            .unit = Unit::Number,
            .hint = "predicted / measured"},
           {.title = "DRAM meas.",
            .fields = {{"predicted/counted_dram_bytes"}},
            .unit = Unit::Bytes,
            .rank = Rank::Useful},
           {.title = "DRAM pred.",
            .fields = {{"predicted/bytes/dram"}},
            .unit = Unit::Bytes,
            .rank = Rank::Useful}},
      .where = "predicted",
      .top = options.top,
      .data = false};
}

Table phases_table(const roofline::Chart& chart) {
  return {.kind = "phase",
          .title = "phases",
          .rows = {.at = "/phases"},
          .columns = {{.title = "phase", .fields = {{"phase"}}, .rank = Rank::Identity},
                      {.title = "kernels",
                       .fields = {{"total/kernels"}},
                       .unit = Unit::Count,
                       .rank = Rank::Useful},
                      {.title = "launches",
                       .fields = {{"total/launches"}},
                       .unit = Unit::Count,
                       .rank = Rank::Useful},
                      {.title = "time", .fields = {{"total/time_ms"}}, .unit = Unit::Milliseconds},
                      {.title = "zero-AI", .fields = {{"zero_ai/launches"}}, .unit = Unit::Count},
                      {.title = "of launches",
                       .fields = {{"zero_ai/launch_fraction"}},
                       .unit = Unit::Fraction,
                       .rank = Rank::Useful},
                      {.title = "of time",
                       .fields = {{"zero_ai/time_fraction"}},
                       .unit = Unit::Fraction},
                      {.title = "tensor",
                       .fields = {{"total/tensor_time_fraction"}},
                       .unit = Unit::Fraction,
                       .rank = Rank::Useful},
                      {.title = std::string(operations_of(chart)) + "s",
                       .fields = {{"total/flops"}},
                       .unit = Unit::Flops,
                       .rank = Rank::Useful,
                       .lower_bound = "total/flops_complete"},
                      {.title = "AI DRAM",
                       .fields = {{"total/intensity/dram"}},
                       .unit = Unit::Number,
                       .lower_bound = "total/flops_complete"}},
          .data = false};
}

Table difference_table(const roofline::Comparison& comparison, std::string kind,
                       std::string_view at, const DescribeOptions& options) {
  const bool classes = kind == "class_difference";
  return {.kind = std::move(kind),
          .title = classes
                       ? fmt::format(
                             "difference: {} minus {}; paired: {:.1f} % and {:.1f} % of the time",
                             comparison.second, comparison.first, comparison.paired_first * 100,
                             comparison.paired_second * 100)
                       : fmt::format("kernels: {} minus {}", comparison.second, comparison.first),
          .rows = {.at = std::string(at)},
          .columns = {{.title = classes ? "class" : "kernel",
                       .fields = {{"short_name"}},
                       .rank = Rank::Identity},
                      {.title = "name", .fields = {{"name"}}, .form = Form::DataOnly},
                      {.title = comparison.first,
                       .fields = {{"first/time_ms", "first_ms"}},
                       .unit = Unit::Milliseconds},
                      {.title = comparison.second,
                       .fields = {{"second/time_ms", "second_ms"}},
                       .unit = Unit::Milliseconds},
                      {.title = "difference",
                       .fields = {{"delta_ms"}},
                       .unit = Unit::SignedMilliseconds},
                      {.title = "launches",
                       .fields = {{"first/launches"}, {"second/launches"}},
                       .unit = Unit::Count,
                       .rank = Rank::Useful,
                       .join = " -> "},
                      {.title = "change", .fields = {{"change"}}, .rank = Rank::Useful}},
          .top = options.top};
}

void add_roofs(const roofline::Chart& chart, Document& document) {
  ordered_json memory = ordered_json::array(), compute = ordered_json::array();
  for (const roofline::MemoryRoof& roof : chart.roofs.memory)
    memory.push_back({{"name", roof.name},
                      {"short_name", roof.name},
                      {"gbytes_per_s", roof.bandwidth.base() * 1e-9},
                      {"source", roof.source}});
  for (const roofline::ComputeRoof& roof : chart.roofs.compute)
    compute.push_back({{"name", name_of(roof.key)},
                       {"short_name", name_of(roof.key)},
                       {"gflops", chart_gflops(chart, roof.rate)},
                       {"source", roof.source}});
  for (auto& [kind, rate, rows] : {std::tuple("memory_roof", "gbytes_per_s", &memory),
                                   std::tuple("compute_roof", "gflops", &compute)}) {
    document.sections.emplace_back(
        Table{.kind = kind,
              .rows = {.own = std::move(*rows)},
              .columns = {{.title = "name", .fields = {{"name"}}},
                          {.title = "short_name", .fields = {{"short_name"}}},
                          {.title = rate, .fields = {{rate}}, .unit = Unit::Number},
                          {.title = "source", .fields = {{"source"}}}},
              .shown = false});
  }
}

/// What the device did over time in one run that says when launches began.
std::string timeline_text(const profile::Timeline& line) {
  const auto share = [&line](Seconds time) {
    return fmt::format("{} ({:.1f} %)", format_time(time),
                       line.span.base() > 0.0 ? time / line.span * 100 : 0.0);
  };
  std::string text =
      fmt::format("{} on the device, idle {}", format_time(line.span), share(line.idle));
  if (line.host_late)
    text += fmt::format(", waiting for the host {} of it", share(*line.host_late));
  if (line.late_stretches > 0)
    text += fmt::format("; launch-bound in {} of {}, {}", number_of(line.late_stretches, "stretch"),
                        number_of(line.late_launches, "launch"), share(line.late_span));
  if (line.communication > Seconds{})
    text += fmt::format("; communication {}, {} of it not hidden", share(line.communication),
                        format_time(line.exposed_communication));
  if (line.phases.size() > 1) {
    for (const profile::TimeShare& part : line.phases)
      text += fmt::format("; {} {}", part.name, format_time(part.time));
  }
  return text;
}

void add_timelines(const roofline::Chart& chart, Document& document) {
  Note note{.title = "over time", .lines = {}};
  for (const roofline::Phase& phase : chart.phases) {
    if (!phase.timeline) continue;
    const std::string run = chart.phases.size() > 1 ? phase.label + ": " : "";
    note.lines.push_back(run + timeline_text(*phase.timeline));
  }
  if (!note.lines.empty()) document.sections.emplace_back(std::move(note));
}

/// The kernels with the most to gain.
void add_advice(const roofline::Chart& chart, Document& document) {
  constexpr std::size_t kShown = 5;
  std::vector<const roofline::Point*> points;
  for (const roofline::Point& point : chart.points) {
    if (point.gain > Seconds{} && !point.advice.empty()) points.push_back(&point);
  }
  std::stable_sort(points.begin(), points.end(),
                   [](const auto* a, const auto* b) { return a->gain > b->gain; });
  if (points.size() > kShown) points.resize(kShown);
  Note note{.title = "most to gain", .lines = {}};
  for (const roofline::Point* point : points)
    note.lines.push_back(point->short_name + ": " + point->advice);
  if (!note.lines.empty()) document.sections.emplace_back(std::move(note));
}

void add_comparison(const roofline::Comparison& comparison, const std::string& at,
                    const DescribeOptions& options, Document& document) {
  document.sections.emplace_back(
      difference_table(comparison, "class_difference", at + "/classes", options));
  document.sections.emplace_back(
      difference_table(comparison, "kernel_difference", at + "/kernels", options));
}

void add_notes(const roofline::Chart& chart, Document& document) {
  Note marks;
  for (const std::string& note : above_roof_notes(chart)) marks.lines.push_back("* " + note);
  if (std::string note = at_least_note(chart); !note.empty()) marks.lines.push_back(note);
  if (!marks.lines.empty()) document.sections.emplace_back(std::move(marks));
}

void add_formulas(const roofline::Chart& chart, Document& document) {
  if (chart.formulas.empty()) return;
  Note formulas{.title = "formulas", .lines = {}};
  for (const profile::FormulaUse& use : chart.formulas)
    formulas.lines.push_back(fmt::format("{} = {}", use.quantity, use.text));
  document.sections.emplace_back(std::move(formulas));
}

}  // namespace

Document describe(const roofline::Chart& chart, RooflineView view, const DescribeOptions& options) {
  Document document;
  document.title = chart.title;
  document.data = roofline_json(chart);
  document.sections.emplace_back(total_facts(chart));
  add_roofs(chart, document);
  if (!chart.points.empty()) {
    document.verdict = verdict_of(chart);
    document.sections.emplace_back(Figure(
        RooflineChart{.chart = std::make_shared<const roofline::Chart>(chart), .view = view}));
    if (chart.comparison) add_comparison(*chart.comparison, "/comparison", options, document);
    for (std::size_t i = 0; i < chart.more_comparisons.size(); ++i) {
      add_comparison(chart.more_comparisons[i], fmt::format("/more_comparisons/{}", i), options,
                     document);
    }
    document.sections.emplace_back(kernels_table(chart, view, options));
    add_notes(chart, document);
    document.sections.emplace_back(predictions_table(options));
    if (chart.phases.size() > 1) document.sections.emplace_back(phases_table(chart));
    add_timelines(chart, document);
    add_advice(chart, document);
  }
  add_formulas(chart, document);
  for (const profile::Warning& warning : chart.warnings) {
    // Notes of an import share their name and nothing else: each is a sentence of its own.
    const bool note = warning.name == "import" || warning.name == "model";
    document.warnings.push_back(
        {.text = warning.name + ": " + warning.message, .kind = note ? "" : warning.name});
  }
  document.provenance = chart.provenance;
  return document;
}

}  // namespace rooftile::report
