// SPDX-License-Identifier: Apache-2.0
//
// What-if on the machine: one layer or a step on a GPU whose resources are multiplied.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "rooftile/provenance.h"
#include "rooftile/request.h"
#include "rooftile/shapes.h"

namespace rooftile {

struct ScaleRequest {
  Request step = {};                   ///< model, GPU, phase, batch, dtype
  std::optional<ConvShape> conv = {};  ///< one layer instead of a model
  std::vector<std::string> set = {};   ///< "dram_bw=2": all of them together are one variant
  std::vector<std::string> cost = {};  ///< "dram_bw=0.4": weights of the cost model
  /// Each resource x2 and x4, and the cheapest balanced sets; without a model: alexnet, vgg16,
  /// googlenet and resnet152 in inference and training.
  bool study = false;
  std::optional<std::string> optimize = {};  ///< "target=2x"
};

struct ScaleVariant {
  std::map<std::string, double> factors;  ///< those that are not 1
  double time_ms = 0, speedup = 1, cost = 0;
  double low_ms = 0, high_ms = 0;            ///< 80 % interval; equal where none is stated
  double speedup_low = 1, speedup_high = 1;  ///< without what is common to both machines
  double host_ms = 0;                        ///< of the time: the GPU waits for its host
  std::string limiter;
  std::map<std::string, double> share;  ///< of the time, per limiter
};

struct BalanceRow {
  std::string resource;
  double factor = 1, speedup = 1;  ///< beyond which nothing is gained, and what is gained there
  double speedup_at_2x = 1;        ///< with twice as much of this resource alone
};

struct ScaledLayer {
  std::string name, shape;
  double count = 1;                 ///< launches in the step
  double base_ms = 0, time_ms = 0;  ///< of one launch
  std::string base_limiter, limiter;
  std::string base_algorithm, algorithm;  ///< of convolutions
  std::vector<BalanceRow> balance;
};

/// One workload.
struct ScaleStep {
  std::string name;  ///< "resnet152 train"
  ScaleVariant base;
  std::vector<ScaleVariant> variants;
  std::vector<ScaledLayer> layers;  ///< with --set
  std::vector<BalanceRow> balance;
  std::vector<std::pair<double, std::optional<ScaleVariant>>> balanced;  ///< target -> cheapest set
};

struct ScaleReport {
  std::string gpu_name;
  std::vector<ScaleStep> steps;
  ProvenanceReport provenance{};
  std::vector<std::string> warnings;
};

}  // namespace rooftile
