// SPDX-License-Identifier: Apache-2.0
//
// `rooftile traffic`: bytes per memory level and layer, reuse, demand against the ceilings, time
// and limiter; as text, JSON, CSV and as a picture.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "report/views.h"

namespace rooftile::report {

/// Bytes loaded at a level (DRAM: read), by one launch.
struct LevelBytes {
  double l1 = 0, l2 = 0, dram = 0;
};

/// One way to run a convolution.
struct AlgorithmTraffic {
  std::string name;
  std::string tile;  ///< of its GEMM (m x n, / parts of k) or CTA; empty where none is modelled
  double flops = 0;  ///< that it executes
  LevelBytes read;
  double dram_written = 0;
  double latency_ms = 0;
  std::string limiter;
};

/// Times are of one launch, in milliseconds.
struct LayerTraffic {
  std::string name;
  std::string op;
  std::string phase;  ///< forward | backward | ...; of a convolution forward | dgrad | wgrad
  std::int64_t count = 1;
  std::string shape;
  std::string dtype;
  LevelBytes read;
  double dram_written = 0;
  double compulsory_read = 0;
  double latency_ms = 0;
  std::string limiter;
  BreakdownReport breakdown;  ///< of the latency, which is that of the closed forms' bytes
  double flops = 0;
  std::string rate;  ///< as in OperatorReport
  std::string tile;
  std::int64_t ctas = 0;
  double waves = 0;
  std::string algorithm;                     ///< of a convolution
  std::vector<AlgorithmTraffic> algorithms;  ///< all that apply, fastest first
  std::string fidelity;                      ///< of the bytes: closed | exact | paper
  /// The same kernel with these bytes instead of the closed forms'; uncalibrated.
  std::optional<double> latency_exact_ms;
  std::optional<LevelBytes> simulated;
};

struct TrafficReport {
  std::string gpu_name;
  std::string model_name;                        ///< empty for a single layer
  std::string traffic_model;                     ///< closed | exact | paper
  std::optional<double> l1_ceiling, l2_ceiling;  ///< bytes per second, whole GPU
  double dram_ceiling = 0;
  std::map<std::string, double> rates;  ///< as in Report
  std::vector<LayerTraffic> layers;
  double host_ms = 0;   ///< what the step waits for its host beyond its kernels
  double total_ms = 0;  ///< of the step: all launches and the host
  ProvenanceReport provenance{};
  std::vector<std::string> warnings;
};

std::string traffic_to_text(const TrafficReport& report, const TextOptions& options);
std::string traffic_to_json(const TrafficReport& report);
std::string traffic_to_csv(const TrafficReport& report);
/// One group of bars per layer (L1, L2, DRAM), coloured by level, with the limiter below.
std::string traffic_to_svg(const TrafficReport& report);

}  // namespace rooftile::report
