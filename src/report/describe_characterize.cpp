// SPDX-License-Identifier: Apache-2.0
//
// `rooftile characterize`: what a machine reaches, with the curves behind it. The tree is the machine
// file that --machine of other commands reads.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "characterize/characterization.h"
#include "characterize/samples_file.h"
#include "core/operations.h"
#include "core/provenance.h"
#include "core/text.h"
#include "hardware/ceilings.h"
#include "report/describe.h"
#include "report/machine_curves.h"

namespace rooftile::report {

namespace {

using characterize::Characterization;
using nlohmann::ordered_json;

Table bandwidth_table(const Characterization& measured) {
  ordered_json rows = ordered_json::array();
  for (const characterize::LevelBandwidth& b : measured.bandwidths) {
    const characterize::Plateau& p = b.plateau;
    rows.push_back({{"level", p.level},
                    {"pattern", name_of(b.pattern)},
                    {"bytes_per_s", p.value},
                    {"from_bytes", p.from.base()},
                    {"to_bytes", p.to.base()},
                    {"points", p.points}});
  }
  return {
      .kind = "bandwidth",
      .title = "bandwidth",
      .rows = {.own = std::move(rows)},
      .columns =
          {{.title = "level", .fields = {{"level"}}, .rank = Rank::Identity},
           {.title = "pattern", .fields = {{"pattern"}}, .rank = Rank::Identity},
           {.title = "bandwidth", .fields = {{"bytes_per_s"}}, .unit = Unit::BytesPerSecond},
           {.title = "working sets, KiB",
            .fields = {{"from_bytes", "", 1024}, {"to_bytes", "", 1024}},
            .unit = Unit::Number,
            .rank = Rank::Useful,
            .join = " - "},
           {.title = "points", .fields = {{"points"}}, .unit = Unit::Count, .rank = Rank::Detail}},
      .data = false};
}

Table rates_table(const Characterization& measured) {
  ordered_json rows = ordered_json::array();
  for (const auto& [key, rate] : measured.rates) {
    ordered_json row{{"format", name_of(key)}, {"peak", format_rate(rate.value, key.dtype, 3)}};
    const auto limit = measured.device.limits.flops.find(key);
    const bool known = limit != measured.device.limits.flops.end() && limit->second.exact;
    if (known && !measured.clocks.empty()) {
      const Hertz clock = *std::max_element(measured.clocks.begin(), measured.clocks.end());
      row["share"] = rate.value / (limit->second.value * clock);
    }
    rows.push_back(std::move(row));
  }
  return {.kind = "rate",
          .title = "rates",
          .rows = {.own = std::move(rows)},
          .columns = {{.title = "format", .fields = {{"format"}}, .rank = Rank::Identity},
                      {.title = "peak", .fields = {{"peak"}}},
                      {.title = "of limit", .fields = {{"share"}}, .unit = Unit::Fraction}},
          .data = false};
}

Table latency_table(const Characterization& measured) {
  ordered_json rows = ordered_json::array();
  for (const characterize::Plateau& p : measured.latencies)
    rows.push_back({{"level", p.level}, {"time", format_time(Seconds::from_base(p.value))}});
  return {.kind = "latency",
          .title = "latency of a dependent load",
          .rows = {.own = std::move(rows)},
          .columns = {{.title = "level", .fields = {{"level"}}, .rank = Rank::Identity},
                      {.title = "latency", .fields = {{"time"}}}},
          .data = false};
}

/// What is asked for first: the slowest level and the highest rate.
std::vector<Verdict> verdict_of(const MachineCurves& machine) {
  const auto lower = [](const Ceiling& a, const Ceiling& b) { return a.value < b.value; };
  std::vector<Verdict> verdict;
  const auto slowest = std::min_element(machine.levels.begin(), machine.levels.end(), lower);
  if (slowest != machine.levels.end()) verdict.push_back({.text = ceiling_text(*slowest)});
  const auto highest = std::max_element(machine.peaks.begin(), machine.peaks.end(), lower);
  if (highest != machine.peaks.end()) verdict.push_back({.text = ceiling_text(*highest)});
  return verdict;
}

void add_charts(std::span<const characterize::Sample> samples, const hardware::Ceilings* ceilings,
                Document& document) {
  const MachineCurves curves = machine_curves(samples, ceilings);
  document.title = curves.title;
  document.subtitle = curves.subtitle;
  document.verdict = verdict_of(curves);
  for (CurveChart& chart : charts_of(curves))
    document.sections.emplace_back(Figure(std::move(chart)));
}

}  // namespace

Document describe(const Characterization& measured, const hardware::Ceilings& ceilings) {
  Document document;
  add_charts(measured.samples, &ceilings, document);
  document.subtitle = fmt::format("{}, {}; {} units", measured.device.backend, measured.device.isa,
                                  measured.device.units);
  document.files = {
      {"json", hardware::to_json(ceilings)},
      {"csv", characterize::write_samples({.fingerprint = "final", .samples = measured.samples})}};
  document.sections.emplace_back(bandwidth_table(measured));
  document.sections.emplace_back(rates_table(measured));
  document.sections.emplace_back(latency_table(measured));
  Facts facts;
  if (measured.shared) facts.rows.push_back({"shared memory", format_rate(measured.shared->value)});
  if (measured.launch)
    facts.rows.push_back({"launch overhead", format_time(measured.launch->value)});
  for (const Characterization::Aside& aside : measured.asides) {
    const auto [name, value] = characterize::describe(aside);
    facts.rows.push_back({name, value});
  }
  if (!facts.rows.empty()) document.sections.emplace_back(std::move(facts));
  if (!measured.device.notes.empty())
    document.sections.emplace_back(Note{.lines = measured.device.notes});
  document.warnings = warnings_of(measured.warnings);
  document.provenance = make_provenance({});
  return document;
}

Document describe(std::span<const characterize::Sample> samples,
                  const hardware::Ceilings* ceilings) {
  Document document;
  add_charts(samples, ceilings, document);
  if (ceilings == nullptr || document.sections.empty()) return document;
  document.files = {{"json", hardware::to_json(*ceilings)}};
  for (Section& section : describe(*ceilings).sections)
    document.sections.push_back(std::move(section));
  return document;
}

Document describe(const hardware::Ceilings& ceilings) {
  const MachineCurves machine = machine_curves({}, &ceilings);
  ordered_json rows = ordered_json::array();
  for (const auto* list : {&machine.levels, &machine.peaks}) {
    for (const Ceiling& ceiling : *list) {
      rows.push_back(
          {{"name", ceiling.name}, {"per_second", ceiling.value}, {"text", ceiling_rate(ceiling)}});
    }
  }
  Document document;
  document.title = machine.title;
  document.subtitle = machine.subtitle;
  document.verdict = verdict_of(machine);
  document.files = {{"json", hardware::to_json(ceilings)}};
  document.sections.emplace_back(
      Table{.kind = "ceiling",
            .rows = {.own = std::move(rows)},
            .columns = {{.title = "ceiling", .fields = {{"name"}}, .rank = Rank::Identity},
                        {.title = "value", .fields = {{"text"}}, .form = Form::Shown},
                        {.title = "per second",
                         .fields = {{"per_second"}},
                         .unit = Unit::Number,
                         .form = Form::DataOnly}}});
  if (!machine.notes.empty())
    document.sections.emplace_back(Note{.lines = machine.notes, .list = true});
  return document;
}

}  // namespace rooftile::report
