// SPDX-License-Identifier: Apache-2.0
//
// Bytes per memory level of one convolution or of every kernel of a model's step: the kernels,
// times and limiters of the forecast, with the bytes that they rest on. `closed` are the forms that
// the forecast takes, `exact` counts the loads of tiled products, `paper` are the published forms
// (FP32 forward convolutions as implicit GEMMs); other bytes than the closed ones do not change the
// time, but say what they would make of it. A tile or an algorithm that is asked for replaces the
// forecast's own choice.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "rooftile/provenance.h"
#include "rooftile/report.h"
#include "rooftile/request.h"
#include "rooftile/shapes.h"

namespace rooftile {

struct TrafficRequest {
  Request step = {};                     ///< model (or empty), GPU, phase, batch, dtype
  std::optional<ConvShape> conv = {};    ///< one layer instead of a model
  std::string traffic_model = "closed";  ///< closed | exact | paper
  std::string order = "column";          ///< column | row | swizzled
  std::string algorithm = "auto";        ///< of convolutions: auto | implicit_gemm | ...
  std::string tile = "auto";             ///< of their implicit GEMM: auto | 128x64 | ...
  bool simulate = false;                 ///< also count with the cache simulator
};

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
  std::string phase;  ///< forward | backward | accumulate | optimizer
  std::string pass;   ///< of a convolution: forward | dgrad | wgrad
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

}  // namespace rooftile
