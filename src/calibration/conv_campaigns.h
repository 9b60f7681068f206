// SPDX-License-Identifier: Apache-2.0
//
// The measured convolutions of a data set as the time model is fitted to them and scored on them:
// DeepBench's layers with their gradients, and NeuSight's campaign, whose rows carry host time that
// drifts with the row number.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "calibration/dataset.h"
#include "cost/predictor.h"

namespace rooftile::calibration {

struct CampaignGpu {
  std::string name;  ///< in the data
  hardware::Machine machine;
  [[nodiscard]] double peak() const;  ///< FLOP/s of all lanes at boost
};
/// One pass of a layer.
struct TimedPass {
  cost::Job job;
  double seconds = 0;
};

/// A layer and what its passes took.
struct DeepBenchRow {
  std::size_t gpu = 0;
  ops::ConvShape conv;
  std::uint32_t file = 0, line = 0;
  bool implicit = false;  ///< the forward pass names the implicit GEMM
  std::optional<TimedPass> forward = {}, data = {}, filter = {};
  /// Rate of the direct algorithm at this time, FLOP/s.
  [[nodiscard]] double rate(double seconds) const;
};

struct DeepBench {
  std::vector<CampaignGpu> gpus;  ///< by name
  std::vector<DeepBenchRow> rows;
};

struct NeuSightRow {
  std::size_t gpu = 0;
  cost::Job job;
  std::string algorithm;   ///< that was launched; empty where nothing says it
  double measured = 0;     ///< seconds
  std::int64_t index = 0;  ///< of the GPU's rows, in the order of the campaign
  [[nodiscard]] bool implicit() const { return algorithm == "implicit_gemm"; }
};

struct NeuSight {
  std::vector<CampaignGpu> gpus;  ///< by name
  std::vector<NeuSightRow> rows;
};

struct Campaigns {
  DeepBench deepbench;
  NeuSight neusight;
  [[nodiscard]] std::size_t gpus() const { return deepbench.gpus.size() + neusight.gpus.size(); }
};

/// The FP32 convolutions of the data.
Campaigns campaigns_of(const Dataset& dataset);

}  // namespace rooftile::calibration
