// SPDX-License-Identifier: Apache-2.0
#include "report/traffic_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "core/text.h"
#include "core/utf8.h"
#include "report/breakdown.h"
#include "report/json_text.h"
#include "report/provenance_view.h"
#include "report/table.h"

namespace rooftile::report {

namespace {

using nlohmann::ordered_json;

constexpr int kTableIndent = 2;

double ratio(double a, double b) {
  return b > 0 ? a / b : 0.0;
}

/// Bytes per second that a level must deliver to hold the layer's time.
double demand(double bytes, const LayerTraffic& layer) {
  return ratio(bytes, layer.latency_ms * 1e-3);
}

/// Percent of a level's ceiling that the layer demands; "-" where the ceiling is not known.
std::string share_of(double bytes, const LayerTraffic& layer, std::optional<double> ceiling) {
  if (!ceiling) return "-";
  return fmt::format("{:.0f}", 100 * demand(bytes, layer) / *ceiling);
}

ordered_json level_json(const LevelBytes& bytes) {
  return {{"l1", bytes.l1}, {"l2", bytes.l2}, {"dram", bytes.dram}};
}

ordered_json algorithm_json(const AlgorithmTraffic& algorithm) {
  ordered_json json{{"name", algorithm.name},
                    {"flops", algorithm.flops},
                    {"l1_bytes", algorithm.read.l1},
                    {"l2_bytes", algorithm.read.l2},
                    {"dram_read_bytes", algorithm.read.dram},
                    {"dram_write_bytes", algorithm.dram_written},
                    {"latency_ms", algorithm.latency_ms},
                    {"limiter", algorithm.limiter},
                    {"bottleneck", algorithm.limiter}};
  if (!algorithm.tile.empty()) json["tile"] = algorithm.tile;
  return json;
}

ordered_json layer_json(const TrafficReport& report, const LayerTraffic& layer) {
  const double dram = layer.read.dram + layer.dram_written;
  ordered_json json{{"name", layer.name},
                    {"op", layer.op},
                    {"phase", layer.phase},
                    {"count", layer.count},
                    {"shape", layer.shape},
                    {"dtype", layer.dtype},
                    {"flops", layer.flops},
                    {"rate", layer.rate},
                    {"l1_bytes", layer.read.l1},
                    {"l2_bytes", layer.read.l2},
                    {"dram_read_bytes", layer.read.dram},
                    {"dram_write_bytes", layer.dram_written},
                    {"compulsory_read_bytes", layer.compulsory_read},
                    {"reuse",
                     {{"l1", ratio(layer.read.l1, layer.read.l2)},
                      {"l2", ratio(layer.read.l2, layer.read.dram)}}},
                    {"demand_bytes_per_second",
                     {{"l1", demand(layer.read.l1, layer)},
                      {"l2", demand(layer.read.l2, layer)},
                      {"dram", demand(dram, layer)}}},
                    {"latency_ms", layer.latency_ms},
                    {"limiter", layer.limiter},
                    {"bottleneck", layer.limiter},
                    {"tile", layer.tile},
                    {"ctas", layer.ctas},
                    {"waves", layer.waves},
                    {"fidelity", layer.fidelity}};
  write_breakdown(layer.breakdown, json);
  ordered_json& used = json["ceiling_fraction"];
  used = ordered_json::object();
  if (report.l1_ceiling) used["l1"] = demand(layer.read.l1, layer) / *report.l1_ceiling;
  if (report.l2_ceiling) used["l2"] = demand(layer.read.l2, layer) / *report.l2_ceiling;
  used["dram"] = demand(dram, layer) / report.dram_ceiling;
  if (!layer.algorithm.empty()) {
    json["algorithm"] = layer.algorithm;
    json["algorithms"] = ordered_json::array();
    for (const AlgorithmTraffic& a : layer.algorithms)
      json["algorithms"].push_back(algorithm_json(a));
  }
  if (!layer.pass.empty()) json["pass"] = layer.pass;
  if (layer.latency_exact_ms) json["latency_exact_ms"] = *layer.latency_exact_ms;
  if (layer.simulated) json["simulated_bytes"] = level_json(*layer.simulated);
  return json;
}

/// Says which columns of a table had no room, and the format that has them.
std::string left_out_text(const Table& table, const TextOptions& options, std::string_view format) {
  const auto absent = table.left_out(options.width, kTableIndent);
  if (absent.empty()) return {};
  return dim(fmt::format("  no room for: {}; a wider terminal or --format {} shows them\n",
                         fmt::join(absent, ", "), format),
             options.color);
}

std::string simulated_text(const TrafficReport& report, const TextOptions& options) {
  Table table({{.title = "simulated", .shrink = true},
               {.title = "L1", .align = Align::Right},
               {.title = "model", .align = Align::Right},
               {.title = "L2", .align = Align::Right},
               {.title = "model", .align = Align::Right},
               {.title = "DRAM read", .align = Align::Right},
               {.title = "model", .align = Align::Right}});
  const auto error = [](double model, double truth) {
    return fmt::format("{:+.1f} %", 100 * (model / truth - 1));
  };
  bool any = false;
  for (const LayerTraffic& layer : report.layers) {
    if (!layer.simulated) continue;
    any = true;
    const LevelBytes& truth = *layer.simulated;
    table.add({layer.name, format_bytes(Bytes::from_base(truth.l1)), error(layer.read.l1, truth.l1),
               format_bytes(Bytes::from_base(truth.l2)), error(layer.read.l2, truth.l2),
               format_bytes(Bytes::from_base(truth.dram)), error(layer.read.dram, truth.dram)});
  }
  return any ? "\n" + table.render(options.width, kTableIndent) : std::string();
}

std::string algorithms_text(const LayerTraffic& layer, const TextOptions& options) {
  std::string text = "\n" + wrapped(fmt::format("{} {}: {}, {} CTAs of {} in {:.1f} waves",
                                                layer.shape, part_of_step(layer), layer.algorithm,
                                                layer.ctas, layer.tile, layer.waves),
                                    options.width, 2);
  Table table({{.title = "algorithm"},
               {.title = "tile"},
               {.title = "FLOPs", .align = Align::Right},
               {.title = "L1", .align = Align::Right},
               {.title = "L2", .align = Align::Right},
               {.title = "DRAM rd", .align = Align::Right},
               {.title = "wr", .align = Align::Right, .optional = true},
               {.title = "time", .align = Align::Right},
               {.title = "limiter"}});
  const auto bytes = [](double value) { return format_bytes(Bytes::from_base(value)); };
  for (const AlgorithmTraffic& a : layer.algorithms) {
    table.add({a.name, a.tile.empty() ? "-" : a.tile, format_flops(Flops::from_base(a.flops)),
               bytes(a.read.l1), bytes(a.read.l2), bytes(a.read.dram), bytes(a.dram_written),
               format_ms(a.latency_ms), a.limiter});
  }
  return text + table.render(options.width, kTableIndent) + left_out_text(table, options, "json");
}

/// With counted bytes: what they would make of the step, uncalibrated.
std::string exact_text(const TrafficReport& report, int width) {
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
  return wrapped(fmt::format("with the {} bytes of {} of {} launches (the others are closed forms) "
                             "the step would take {}, uncalibrated",
                             report.traffic_model, counted, launches, format_ms(time)),
                 width, 2);
}

std::string totals_text(const TrafficReport& report, int width) {
  std::map<std::string, double> share;
  LevelBytes sum;
  double written = 0;
  for (const LayerTraffic& layer : report.layers) {
    const auto count = static_cast<double>(layer.count);
    share[layer.limiter] += layer.latency_ms * count;
    sum.l1 += layer.read.l1 * count;
    sum.l2 += layer.read.l2 * count;
    sum.dram += layer.read.dram * count;
    written += layer.dram_written * count;
  }
  std::string text = fmt::format(
      "\n  all layers: L1 {}, L2 {}, DRAM {} read and {} written\n  step {}; time by limiter:",
      format_bytes(Bytes::from_base(sum.l1)), format_bytes(Bytes::from_base(sum.l2)),
      format_bytes(Bytes::from_base(sum.dram)), format_bytes(Bytes::from_base(written)),
      format_ms(report.total_ms));
  if (report.host_ms > 0) share["host"] += report.host_ms;
  for (const auto& [name, ms] : share) {
    text += fmt::format(" {} {:.0f} %", name, 100 * ratio(ms, report.total_ms));
  }
  return text + "\n" + exact_text(report, width);
}

/// Left out of a narrow table, from the right: tile, waves, bytes written, reuse; and the phase
/// where there is but one.
std::string layers_text(const TrafficReport& report, const TextOptions& options) {
  const bool one_phase =
      std::all_of(report.layers.begin(), report.layers.end(), [&](const LayerTraffic& layer) {
        return part_of_step(layer) == part_of_step(report.layers.front());
      });
  Table table({{.title = "layer", .shrink = true},
               {.title = "phase", .optional = one_phase},
               {.title = "x", .align = Align::Right},
               {.title = "time", .align = Align::Right},
               {.title = "limiter"},
               {.title = "L1", .align = Align::Right},
               {.title = "L2", .align = Align::Right},
               {.title = "DRAM", .align = Align::Right},
               {.title = "% of roofs", .align = Align::Right},
               {.title = "reuse", .align = Align::Right, .optional = true},
               {.title = "written", .align = Align::Right, .optional = true},
               {.title = "waves", .align = Align::Right, .optional = true},
               {.title = "tile", .optional = true}});
  for (const LayerTraffic& layer : report.layers) {
    const auto bytes = [](double value) { return format_bytes(Bytes::from_base(value)); };
    table.add(
        {layer.name, std::string(short_phase(part_of_step(layer))), std::to_string(layer.count),
         format_ms(layer.latency_ms), layer.limiter, bytes(layer.read.l1), bytes(layer.read.l2),
         bytes(layer.read.dram),
         fmt::format("{}/{}/{}", share_of(layer.read.l1, layer, report.l1_ceiling),
                     share_of(layer.read.l2, layer, report.l2_ceiling),
                     share_of(layer.read.dram + layer.dram_written, layer, report.dram_ceiling)),
         fmt::format("{:.1f}/{:.1f}", ratio(layer.read.l1, layer.read.l2),
                     ratio(layer.read.l2, layer.read.dram)),
         bytes(layer.dram_written), fmt::format("{:.1f}", layer.waves), layer.tile});
  }
  if (report.host_ms > 0) {
    table.add({"host", "step", "1", format_ms(report.host_ms), "host", "-", "-", "-", "-", "-", "-",
               "-", "-"});
  }
  return table.render(options.width, kTableIndent) + left_out_text(table, options, "csv");
}

/// "implicit_gemm=0.12;winograd_fused=0.05", fastest first.
std::string algorithms_field(const LayerTraffic& layer) {
  std::string text;
  for (const AlgorithmTraffic& a : layer.algorithms) {
    text += fmt::format("{}{}={}", text.empty() ? "" : ";", a.name, a.latency_ms);
  }
  return text;
}

/// A fraction of the ceiling, empty where that is not known.
std::string fraction_field(double bytes, const LayerTraffic& layer, std::optional<double> ceiling) {
  return ceiling ? fmt::format("{}", demand(bytes, layer) / *ceiling) : std::string();
}

}  // namespace

std::string traffic_to_text(const TrafficReport& report, const TextOptions& options) {
  std::string text =
      bold(report.model_name.empty() ? "one layer" : report.model_name, options.color);
  text += fmt::format(
      " on {}, traffic model: {}\n  bytes are loads of one launch; % of the roofs of "
      "L1/L2/DRAM\n\n",
      visible(report.gpu_name), report.traffic_model);
  text += layers_text(report, options);
  if (report.layers.size() == 1 && !report.layers.front().algorithm.empty()) {
    text += algorithms_text(report.layers.front(), options);
  }
  if (report.layers.size() > 1) text += totals_text(report, options.width);
  text += simulated_text(report, options);
  for (const std::string& warning : report.warnings) {
    text += labelled("note", warning, options.width, options.color);
  }
  return text + "\n" + provenance_to_text(report.provenance, options.color);
}

std::string traffic_to_json(const TrafficReport& report) {
  ordered_json json{{"schema", 1},
                    {"gpu", report.gpu_name},
                    {"model", report.model_name},
                    {"traffic_model", report.traffic_model},
                    {"ceilings_bytes_per_second", ordered_json::object()},
                    {"layers", ordered_json::array()}};
  ordered_json& ceilings = json["ceilings_bytes_per_second"];
  if (report.l1_ceiling) ceilings["l1"] = *report.l1_ceiling;
  if (report.l2_ceiling) ceilings["l2"] = *report.l2_ceiling;
  ceilings["dram"] = report.dram_ceiling;
  for (const LayerTraffic& layer : report.layers) {
    json["layers"].push_back(layer_json(report, layer));
  }
  json["rates"] = report.rates;
  json["host_ms"] = report.host_ms;
  json["total_ms"] = report.total_ms;
  json["provenance"] = provenance_json(report.provenance);
  json["warnings"] = report.warnings;
  return json_text(json);
}

std::string traffic_to_csv(const TrafficReport& report) {
  std::string text =
      "name,op,phase,count,shape,dtype,l1_bytes,l2_bytes,dram_read_bytes,dram_write_bytes,"
      "compulsory_read_bytes,latency_ms,limiter,tile,ctas,waves,algorithm,fidelity,latency_exact_"
      "ms,"
      "reuse_l1,reuse_l2,demand_l1,demand_l2,demand_dram,ceiling_l1,ceiling_l2,ceiling_dram,"
      "simulated_l1_bytes,simulated_l2_bytes,simulated_dram_read_bytes,"
      "algorithms_ms,pass\n";
  for (const LayerTraffic& l : report.layers) {
    const double dram = l.read.dram + l.dram_written;
    text += fmt::format("{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},",
                        csv_field(l.name), l.op, l.phase, l.count, csv_field(l.shape), l.dtype,
                        l.read.l1, l.read.l2, l.read.dram, l.dram_written, l.compulsory_read,
                        l.latency_ms, l.limiter, l.tile, l.ctas, l.waves, l.algorithm, l.fidelity,
                        l.latency_exact_ms ? fmt::format("{}", *l.latency_exact_ms) : "");
    text += fmt::format("{},{},{},{},{},{},{},{},", ratio(l.read.l1, l.read.l2),
                        ratio(l.read.l2, l.read.dram), demand(l.read.l1, l), demand(l.read.l2, l),
                        demand(dram, l), fraction_field(l.read.l1, l, report.l1_ceiling),
                        fraction_field(l.read.l2, l, report.l2_ceiling),
                        fraction_field(dram, l, report.dram_ceiling));
    text += l.simulated
                ? fmt::format("{},{},{},", l.simulated->l1, l.simulated->l2, l.simulated->dram)
                : std::string(",,,");
    text += algorithms_field(l) + "," + l.pass + "\n";
  }
  if (report.host_ms > 0) {
    const auto columns = std::count(text.begin(), std::find(text.begin(), text.end(), '\n'), ',');
    std::string row = fmt::format("host,step,,1,,,,,,,,{},host", report.host_ms);
    row.append(static_cast<std::size_t>(columns - std::count(row.begin(), row.end(), ',')), ',');
    text += row + "\n";
  }
  return text;
}

}  // namespace rooftile::report
