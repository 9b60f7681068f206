// SPDX-License-Identifier: Apache-2.0
//
// Fits of the forms in latency/learned to measured rows, through the same functions that predict.
// A fit returns the raw vector of its parameters, so that a checkpoint can keep it; apply_ turns
// it into a model.
#pragma once

#include <string_view>
#include <vector>

#include "calibration/least_squares.h"
#include "calibration/selection.h"
#include "cost/learned/chip.h"

namespace rooftile::calibration {

/// What is fixed about a GEMM class before it is fitted.
struct GemmPlan {
  cost::learned::GemmModel start;
  bool named_tiles = false;       ///< fit with the tile that the launched kernel names
  bool free_misses = false;       ///< fit miss_mid and miss_width too
  bool tensor = false;            ///< fit latencies, L2 and DRAM; campaigns share a plateau
  bool quantized = false;         ///< fit the kernel that quantizes the activations
  std::size_t rows = 600;         ///< per GPU and campaign
  double kappa_prior = 1.1;       ///< kappa of a family that nobody measured
  double prior_weight = 2;        ///< in GPUs
  std::size_t neighbours = 0;     ///< rows to remember, per GPU and campaign
  double foreign_neighbours = 0;  ///< what a measured shape says about another instruction set
};
/// `vendor` is "nvidia" or "amd", `name` a class.
GemmPlan gemm_plan(std::string_view vendor, std::string_view name);
/// Of fit_experts.
GemmPlan experts_plan();

inline constexpr double kPriorStrength = 0.006;  ///< per square root of the number of rows

struct FitData {
  const Dataset& dataset;
  const cost::learned::Weights& weights;  ///< streaming, families
  Samples samples;                        ///< of the class, thinned
};

cost::learned::Chip chip_for(const FitData& data, const Sample& sample);
/// log(modelled / measured).
double relative(double modelled, double measured);

/// Shared parameters, then the log plateau of every group of `data.samples`.
std::size_t gemm_size(const GemmPlan& plan, const Samples& samples);
LeastSquaresResult fit_gemm(const FitData& data, const GemmPlan& plan);
void apply_gemm(const std::vector<double>& x, const GemmPlan& plan,
                cost::learned::GemmModel& model);
/// Plateau of each GPU: geometric mean over its campaigns.
cost::ByName<double> plateaus(const std::vector<double>& x, const GemmPlan& plan,
                              const FitData& data);

cost::learned::RowModel row_plan(std::string_view vendor, std::string_view name);
inline constexpr std::size_t kRowSize = 8;
LeastSquaresResult fit_rows(const FitData& data, const cost::learned::RowModel& plan);
void apply_rows(const std::vector<double>& x, cost::learned::RowModel& model);

}  // namespace rooftile::calibration
