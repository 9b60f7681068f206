// SPDX-License-Identifier: Apache-2.0
//
// The parts of a predictor that are medians and means rather than fits: attained bandwidth, the
// plateau rules for GPUs nobody measured, element-wise kernels, the trivial baseline, ranges.
#pragma once

#include <string_view>
#include <vector>

#include "calibration/fit_forms.h"
#include "calibration/selection.h"

namespace rooftile::calibration {

/// Instruction set -> family of library kernels.
void set_tables(const std::vector<hardware::GpuSpec>& catalogue, cost::learned::Weights& weights);

/// Attained fractions: measured from element-wise rows, published from the catalogue's GPUs.
void set_streaming(const Dataset& dataset, const Samples& samples,
                   const std::vector<hardware::GpuSpec>& catalogue,
                   cost::learned::Weights& weights);

/// Published rates of the catalogue's GPUs, by rate and chip.
void set_ceilings(const std::vector<hardware::GpuSpec>& catalogue, cost::learned::Weights& weights);

/// kappa by family and for unknown families, from the measured GPUs that hold their clock.
/// `dense` is the rule of dense FP32 products, which sets the load from the GPUs that do not;
/// batched ones take it over, scaled. Products on tensor units have no power rule.
enum class Units : std::uint8_t { DenseFp32, BatchedFp32, Tensor16, Tensor8 };
void set_plateau_rule(const Dataset& dataset, const GemmPlan& plan, Units units,
                      const cost::learned::Plateau* dense, const cost::learned::Weights& weights,
                      cost::learned::Plateau& rule);

/// Tiles by instruction set, from the names of the launched kernels.
void set_named_tiles(const Dataset& dataset, const Samples& samples,
                     cost::learned::GemmModel& model);

/// What a call costs at least in an operator benchmark, from its small rows; nothing without any.
std::optional<double> shortest_call(const Samples& samples);

cost::learned::PointwiseModel fit_pointwise(const FitData& data, std::string_view vendor);
cost::learned::ConvModel fit_conv(const FitData& data);
cost::learned::TrivialLine fit_trivial(const Dataset& dataset, const Samples& samples);
/// A ring at the rate of the data sheet.
double ring_roofline(const Collective& row);
/// The same line of all-reduces; nothing without rows.
std::optional<cost::learned::TrivialLine> fit_trivial_ring(const Dataset& dataset,
                                                           std::optional<std::uint32_t> left_out);
cost::learned::Range range_of(const Dataset& dataset, const Samples& samples);

}  // namespace rooftile::calibration
