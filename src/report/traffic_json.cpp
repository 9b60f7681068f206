// SPDX-License-Identifier: Apache-2.0
#include "report/traffic_json.h"

#include <nlohmann/json.hpp>

#include "core/provenance.h"
#include "report/breakdown.h"

namespace rooftile::report {

namespace {

using nlohmann::ordered_json;

double ratio(double a, double b) {
  return b > 0 ? a / b : 0.0;
}

/// Bytes per second that a level must deliver to hold the layer's time.
double demand(double bytes, const LayerTraffic& layer) {
  return ratio(bytes, layer.latency_ms * 1e-3);
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
                    {"fidelity", layer.fidelity},
                    {"part", part_of_step(layer)}};
  write_breakdown(layer.breakdown, json);
  ordered_json& used = json["ceiling_fraction"];
  used = ordered_json::object();
  if (report.l1_ceiling) used["l1"] = demand(layer.read.l1, layer) / *report.l1_ceiling;
  if (report.l2_ceiling) used["l2"] = demand(layer.read.l2, layer) / *report.l2_ceiling;
  used["dram"] = demand(dram, layer) / report.dram_ceiling;
  if (!layer.algorithm.empty()) {
    json["algorithm"] = layer.algorithm;
    json["algorithms"] = ordered_json::array();
    ordered_json& times = json["algorithms_ms"] = ordered_json::object();
    for (const AlgorithmTraffic& a : layer.algorithms) {
      json["algorithms"].push_back(algorithm_json(a));
      times[a.name] = a.latency_ms;
    }
  }
  if (!layer.pass.empty()) json["pass"] = layer.pass;
  if (layer.latency_exact_ms) json["latency_exact_ms"] = *layer.latency_exact_ms;
  if (layer.simulated) {
    const LevelBytes& truth = *layer.simulated;
    json["simulated_bytes"] = level_json(truth);
    // Of the shown bytes against the simulation.
    json["byte_error"] = {{"l1", ratio(layer.read.l1, truth.l1) - 1},
                          {"l2", ratio(layer.read.l2, truth.l2) - 1},
                          {"dram", ratio(layer.read.dram, truth.dram) - 1}};
  }
  return json;
}

}  // namespace

ordered_json traffic_json(const TrafficReport& report) {
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
  return json;
}

}  // namespace rooftile::report
