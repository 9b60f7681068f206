// SPDX-License-Identifier: Apache-2.0
//
// Predictions against measured kernels: every row, and sums per class, GPU and campaign, with the
// baselines beside. Left-out evaluation predicts each GPU with weights that have seen nothing
// measured on it, and takes its intervals from the residuals of the other GPUs.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/error_statistics.h"
#include "fit/dataset.h"
#include "fit/fit.h"
#include "latency/predictor.h"

namespace rooftile::fit {

/// One row; errors are predicted / measured - 1.
struct Case {
  std::size_t sample = 0;
  double measured = 0, predicted = 0, low = 0, high = 0;  ///< seconds
  double bound = 0, roofline = 0, trivial = 0;            ///< seconds, the baselines
  bool extrapolated = false;
  [[nodiscard]] double error() const { return predicted / measured - 1; }
};

struct Summary : ErrorStatistics {
  std::string group;  ///< "linear", "linear/v100-pcie-32gb", "linear/v100-pcie-32gb/train"
  double bound_error = 0, roofline_error = 0, trivial_error = 0;
};

struct Evaluation {
  std::string predictor;
  bool left_out = false;
  std::vector<Case> cases;
  std::vector<Summary> summary;
};

/// All rows with one predictor; the trivial baseline uses `weights`.
Evaluation evaluate(const Dataset& dataset, const latency::Predictor& predictor,
                    const latency::learned::Weights& weights);

/// All rows, each GPU with the fit that left it out.
Evaluation evaluate_left_out(const Dataset& dataset, const Fits& fits);

/// Half-widths of the 80 % interval of log time per class and bucket of predicted time, from
/// left-out residuals; GPUs count equally, those of `excluded` not at all.
using Intervals = latency::learned::ByName<std::array<double, latency::learned::kBuckets>>;
Intervals calibrate(const Dataset& dataset, const std::vector<Case>& cases,
                    std::optional<std::uint32_t> excluded);

/// Data, GPUs, ranges, left-out errors, seed and command as JSON: what a predictor's users need to
/// know before they trust it.
struct CardFacts {
  std::uint64_t seed = 1;
  std::string command;
};
std::string card_json(const Dataset& dataset, const latency::learned::Weights& weights,
                      const Evaluation& left_out, const CardFacts& facts);

}  // namespace rooftile::fit
