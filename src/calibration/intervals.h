// SPDX-License-Identifier: Apache-2.0
//
// Intervals from left-out residuals. A GPU that was left out was predicted from others of which
// some are its kin (cost/learned/familiarity.h): what errors were at each degree of that is what a
// new machine of the same degree may expect.
//
//   usual[bucket] = the 80 % quantile of |log error| over all GPUs
//   level[degree] = the 80 % quantile of |log error| / usual over the GPUs of this degree
//
// GPUs count equally. A degree that no GPU stands for lies between its neighbours; beyond them a
// step is worth a factor. What is less known is not less wide.
#pragma once

#include <optional>
#include <vector>

#include "calibration/evaluate.h"
#include "calibration/selection.h"

namespace rooftile::calibration {

/// The machines of these rows.
cost::learned::Kin kin_of(const Dataset& dataset, const Samples& samples,
                          std::string_view kernel_class, const cost::ClockConstants& clock);

/// Half-widths of the 80 % interval of log time per class, familiarity and bucket of predicted
/// time; residuals of `excluded` do not count.
using Intervals = cost::ByName<cost::learned::Widths>;
Intervals calibrate(const Dataset& dataset, const std::vector<Case>& cases,
                    const cost::ClockConstants& clock, std::optional<std::uint32_t> excluded);

/// Correlation of the errors of two classes of kernels on one GPU, from left-out residuals: what of
/// a step's error does not average out. GPUs count equally, those of `excluded` not at all; nothing
/// where fewer than three GPUs have two classes.
std::optional<double> error_correlation(const Dataset& dataset, const std::vector<Case>& cases,
                                        std::optional<std::uint32_t> excluded);

/// Intervals and the correlation of errors, from left-out residuals.
void calibrate_weights(const Dataset& dataset, const std::vector<Case>& cases,
                       std::optional<std::uint32_t> excluded, cost::learned::Weights& weights);

/// Gives every case the interval that the residuals of the other GPUs state.
void set_left_out_intervals(const Dataset& dataset, const Fits& fits, std::vector<Case>& cases);

}  // namespace rooftile::calibration
