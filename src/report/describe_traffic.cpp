// SPDX-License-Identifier: Apache-2.0
//
// `rooftile traffic`: bytes per memory level and layer, under the roofs of those levels.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "core/text.h"
#include "report/describe.h"
#include "report/lines.h"
#include "report/traffic_chart.h"
#include "report/traffic_json.h"

namespace rooftile::report {

namespace {

using nlohmann::ordered_json;

/// Time by limiter, of all launches.
std::map<std::string, double> limiter_times(const TrafficReport& report) {
  std::map<std::string, double> times;
  for (const LayerTraffic& layer : report.layers)
    times[layer.limiter] += layer.latency_ms * static_cast<double>(layer.count);
  if (report.host_ms > 0) times["host"] += report.host_ms;
  return times;
}

std::vector<Verdict> verdict_of(const TrafficReport& report) {
  std::vector<Verdict> verdict{{.text = format_ms(report.total_ms)}};
  const auto times = limiter_times(report);
  const auto most = std::max_element(
      times.begin(), times.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  if (most != times.end() && report.total_ms > 0)
    verdict.push_back({.text = fmt::format("{:.0f} % of the time limited by {}",
                                           100 * most->second / report.total_ms, most->first)});
  return verdict;
}

std::string bytes_of(double bytes) {
  return format_bytes(Bytes::from_base(bytes));
}

Column bytes_column(std::string title, std::string at, Rank rank) {
  return {.title = std::move(title),
          .fields = {{std::move(at)}},
          .unit = Unit::Bytes,
          .rank = rank,
          .hint = "of one launch"};
}

/// Columns of data that nobody is shown.
void add_data(std::vector<Column>& columns,
              const std::vector<std::pair<std::string, std::string>>& fields) {
  for (const auto& [at, name] : fields)
    columns.push_back({.title = name, .fields = {{at, name}}, .form = Form::DataOnly});
}

std::vector<Column> layer_columns(bool one_part) {
  std::vector<Column> columns{
      {.title = "layer", .fields = {{"name"}}, .rank = Rank::Identity},
      {.title = "kernel", .fields = {{"op"}}, .rank = Rank::Extra},
      {.title = "phase",
       .fields = {{"part"}},
       .unit = Unit::Phase,
       .rank = one_part ? Rank::Extra : Rank::Essential,
       .form = Form::Shown},
      {.title = "phase", .fields = {{"phase"}}, .form = Form::DataOnly},
      {.title = "x", .fields = {{"count"}}, .unit = Unit::Count, .hint = "launches in the step"},
      {.title = "shape", .fields = {{"shape"}}, .rank = Rank::Extra, .form = Form::Shape},
      {.title = "dtype", .fields = {{"dtype"}}, .form = Form::DataOnly},
      {.title = "time",
       .fields = {{"latency_ms"}},
       .unit = Unit::Milliseconds,
       .hint = "of one launch"},
      {.title = "limiter", .fields = {{"limiter"}}},
      bytes_column("L1", "l1_bytes", Rank::Detail),
      bytes_column("L2", "l2_bytes", Rank::Detail),
      bytes_column("DRAM", "dram_read_bytes", Rank::Useful),
      {.title = "% of roofs",
       .fields = {{"ceiling_fraction/l1", "ceiling_l1"},
                  {"ceiling_fraction/l2", "ceiling_l2"},
                  {"ceiling_fraction/dram", "ceiling_dram"}},
       .unit = Unit::Percent,
       .hint = "of the bandwidths of L1, L2 and DRAM"},
      {.title = "reuse",
       .fields = {{"reuse/l1"}, {"reuse/l2"}},
       .unit = Unit::Number,
       .rank = Rank::Extra,
       .hint = "bytes at a level over those at the next one: L1/L2, L2/DRAM"},
      bytes_column("written", "dram_write_bytes", Rank::Extra),
      {.title = "waves", .fields = {{"waves"}}, .unit = Unit::Number, .rank = Rank::Extra},
      {.title = "tile", .fields = {{"tile"}}, .rank = Rank::Extra},
      {.title = "algorithm", .fields = {{"algorithm"}}, .rank = Rank::Extra}};
  add_data(columns, {{"compulsory_read_bytes", "compulsory_read_bytes"},
                     {"ctas", "ctas"},
                     {"fidelity", "fidelity"},
                     {"latency_exact_ms", "latency_exact_ms"},
                     {"demand_bytes_per_second/l1", "demand_l1"},
                     {"demand_bytes_per_second/l2", "demand_l2"},
                     {"demand_bytes_per_second/dram", "demand_dram"},
                     {"simulated_bytes/l1", "simulated_l1_bytes"},
                     {"simulated_bytes/l2", "simulated_l2_bytes"},
                     {"simulated_bytes/dram", "simulated_dram_read_bytes"},
                     {"algorithms_ms", "algorithms_ms"},
                     {"pass", "pass"}});
  return columns;
}

Table layers_table(const TrafficReport& report) {
  const bool one_part =
      std::all_of(report.layers.begin(), report.layers.end(), [&](const LayerTraffic& layer) {
        return part_of_step(layer) == part_of_step(report.layers.front());
      });
  ordered_json host = ordered_json::array();
  if (report.host_ms > 0)
    host.push_back({{"name", "host"},
                    {"op", "step"},
                    {"part", "step"},
                    {"count", 1},
                    {"latency_ms", report.host_ms},
                    {"limiter", "host"}});
  return {.kind = "layer",
          .rows = {.at = "/layers"},
          .columns = layer_columns(one_part),
          .more = std::move(host),
          .indent = 2};
}

Table algorithms_table(const LayerTraffic& layer) {
  return {.kind = "algorithm",
          .title = fmt::format("{} {}: {}, {} CTAs of {} in {:.1f} waves", layer.shape,
                               part_of_step(layer), layer.algorithm, layer.ctas, layer.tile,
                               layer.waves),
          .rows = {.at = "/layers/0/algorithms"},
          .columns =
              {{.title = "algorithm", .fields = {{"name"}}, .rank = Rank::Identity},
               {.title = "tile", .fields = {{"tile"}}, .rank = Rank::Detail},
               {.title = "FLOPs", .fields = {{"flops"}}, .unit = Unit::Flops, .rank = Rank::Useful},
               bytes_column("L1", "l1_bytes", Rank::Detail),
               bytes_column("L2", "l2_bytes", Rank::Detail),
               bytes_column("DRAM read", "dram_read_bytes", Rank::Useful),
               bytes_column("written", "dram_write_bytes", Rank::Extra),
               {.title = "time", .fields = {{"latency_ms"}}, .unit = Unit::Milliseconds},
               {.title = "limiter", .fields = {{"limiter"}}}},
          .indent = 2,
          .data = false};
}

Table simulated_table() {
  const auto error = [](const char* level) {
    return Column{.title = "model",
                  .fields = {{fmt::format("byte_error/{}", level)}},
                  .unit = Unit::SignedFraction,
                  .rank = Rank::Useful};
  };
  const auto bytes = [](const char* title, const char* level) {
    return bytes_column(title, fmt::format("simulated_bytes/{}", level), Rank::Essential);
  };
  return {.kind = "simulated",
          .title = "simulated bytes, and the modelled ones relative to them",
          .rows = {.at = "/layers"},
          .columns = {{.title = "layer", .fields = {{"name"}}, .rank = Rank::Identity},
                      bytes("L1", "l1"),
                      error("l1"),
                      bytes("L2", "l2"),
                      error("l2"),
                      bytes("DRAM read", "dram"),
                      error("dram")},
          .where = "simulated_bytes",
          .indent = 2,
          .data = false};
}

/// With counted bytes: what they would make of the step, uncalibrated.
std::string exact_text(const TrafficReport& report) {
  double time = report.host_ms;
  std::int64_t counted = 0;
  std::int64_t launches = 0;
  for (const LayerTraffic& layer : report.layers) {
    const auto count = static_cast<double>(layer.count);
    time += layer.latency_exact_ms.value_or(layer.latency_ms) * count;
    counted += layer.latency_exact_ms ? layer.count : 0;
    launches += layer.count;
  }
  if (counted == 0) return {};
  return fmt::format(
      "with the {} bytes of {} of {} launches (the others are closed forms) the step "
      "would take {}, uncalibrated",
      report.traffic_model, counted, launches, format_ms(time));
}

Facts total_facts(const TrafficReport& report) {
  LevelBytes sum;
  double written = 0;
  for (const LayerTraffic& layer : report.layers) {
    const auto count = static_cast<double>(layer.count);
    sum.l1 += layer.read.l1 * count;
    sum.l2 += layer.read.l2 * count;
    sum.dram += layer.read.dram * count;
    written += layer.dram_written * count;
  }
  std::vector<std::string> parts;
  for (const auto& [name, ms] : limiter_times(report))
    parts.push_back(
        fmt::format("{} {:.0f} %", name, report.total_ms > 0 ? 100 * ms / report.total_ms : 0.0));
  Facts facts{.rows = {{"all layers",
                        fmt::format("L1 {}, L2 {}, DRAM {} read and {} written", bytes_of(sum.l1),
                                    bytes_of(sum.l2), bytes_of(sum.dram), bytes_of(written))},
                       {"step", fmt::format("{}; time by limiter: {}", format_ms(report.total_ms),
                                            fmt::join(parts, ", "))}}};
  if (std::string exact = exact_text(report); !exact.empty())
    facts.rows.push_back({"exact", std::move(exact)});
  return facts;
}

}  // namespace

Document describe(const TrafficReport& report) {
  Document document;
  const bool one = report.model_name.empty();
  document.title =
      fmt::format("Traffic of {} on {}", one ? "one layer" : report.model_name, report.gpu_name);
  document.subtitle =
      fmt::format("traffic model: {}; bytes are loads of one launch; % of the roofs of L1/L2/DRAM",
                  report.traffic_model);
  document.verdict = verdict_of(report);
  document.data = traffic_json(report);
  document.sections.emplace_back(Figure(traffic_chart(report)));
  if (report.layers.size() > 1) document.sections.emplace_back(total_facts(report));
  document.sections.emplace_back(layers_table(report));
  if (report.layers.size() == 1 && !report.layers.front().algorithm.empty())
    document.sections.emplace_back(algorithms_table(report.layers.front()));
  document.sections.emplace_back(simulated_table());
  document.warnings = warnings_of(report.warnings);
  document.warning_label = "note";
  document.provenance = report.provenance;
  return document;
}

}  // namespace rooftile::report
