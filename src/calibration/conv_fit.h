// SPDX-License-Identifier: Apache-2.0
//
// The time model on measured convolutions: its errors with given constants, and the constants that
// make them small. Errors are exp(mean |ln(predicted / measured)|) - 1.
//
// DeepBench: a forward row that exceeds 0.97 of the FP32 peak at boost cannot have run the implicit
// GEMM it names and is left out of that column; a filter gradient that does ran Winograd. 15 us are
// added per call: the host's share of the campaign.
//
// NeuSight: three readings of a campaign in which every row carries host time that grows with the
// row number: a constant of 280 us, and the drift removed (the median of measured - predicted per
// 250 rows) as the GPU itself or as the others show it.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "calibration/conv_campaigns.h"
#include "calibration/validation_cell.h"
#include "cost/learned/weights.h"

namespace rooftile::calibration {

/// Geometric error of one column.
struct TimeError {
  double sum = 0, bias = 0;
  std::int64_t count = 0, inside = 0;
  void add(double predicted, double measured);
  [[nodiscard]] double mean() const;
  /// "13.4 % (0.93)", "-" without rows.
  [[nodiscard]] ValidationCell cell() const;
  [[nodiscard]] ValidationCell inside_cell() const;  ///< of a factor of 1.3
};

/// What is fitted to convolutions: their constants, and the clock that boards sustain.
struct ConvolutionForm : cost::TimeConstants, cost::ClockConstants {};
std::span<const cost::Parameter<ConvolutionForm>> parameters_of(const ConvolutionForm& form);

/// The predictor of each GPU of a campaign: the shipped one, or one fitted without it.
using ConvPredictors = std::vector<std::shared_ptr<const cost::Predictor>>;
/// With the form in its place.
cost::Constants with_form(cost::Constants constants, const ConvolutionForm& form);

struct DeepBenchErrors {
  TimeError implicit, forward, data, filter;
  std::int64_t dropped = 0;
  [[nodiscard]] double sum() const {
    return implicit.mean() + forward.mean() + data.mean() + filter.mean();
  }
};

/// Of all GPUs but the one of that id.
std::vector<DeepBenchErrors> score(const DeepBench& data, const ConvPredictors& predictors,
                                   std::string_view left_out);

/// Seconds of host time per GPU, block of rows and half of the block.
class Drift {
 public:
  void add(const NeuSightRow& row, double residual);
  void finish();
  /// Of the other half of the row's block, so that no row is scored with its own time.
  [[nodiscard]] double here(const NeuSightRow& row) const;
  /// What the other GPUs of the file show at the same place; nothing where there are none.
  [[nodiscard]] std::optional<double> elsewhere(const NeuSightRow& row) const;
  [[nodiscard]] ValidationCell first_and_last(std::size_t gpu) const;

 private:
  template <typename T>
  using PerHalf = std::map<std::size_t, std::map<std::int64_t, std::map<std::int64_t, T>>>;
  PerHalf<std::vector<double>> residuals_;
  PerHalf<double> time_;
};

struct NeuSightErrors {
  TimeError implicit, implicit_flat, implicit_elsewhere, all, all_flat, all_elsewhere;
  std::int64_t right = 0;
};

struct NeuSightScore {
  std::vector<NeuSightErrors> errors;
  Drift drift;
};

/// Every `step`-th row.
NeuSightScore score(const NeuSight& data, const ConvPredictors& predictors, std::size_t step,
                    std::string_view left_out);

/// Fitted to all GPUs but the one of that id; rows of both campaigns count alike. `weights_with`
/// gives the weights for a trial: the products that convolutions launch are fitted already. Takes
/// half a minute.
using WeightsWith = std::function<cost::learned::Weights(const ConvolutionForm&)>;
ConvolutionForm fit_convolutions(const Campaigns& data, const WeightsWith& weights_with,
                                 std::string_view left_out);

}  // namespace rooftile::calibration
