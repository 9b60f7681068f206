// SPDX-License-Identifier: Apache-2.0
//
// Fit of fused attention (cost/learned/attention_form.h): numbers that all families of kernels have
// in common, and how far each family is from them. The distance is held small by a prior, so the
// common numbers are what an unknown family gets. Rows that ran from a warm L2 are fitted without
// their DRAM term: they tell what a call costs in addition to it.
#pragma once

#include <string_view>
#include <vector>

#include "calibration/fit_forms.h"
#include "calibration/least_squares.h"

namespace rooftile::calibration {

/// `name` is "prefill" or "decode": which numbers the rows can tell.
std::size_t attention_size(const FitData& data, std::string_view name);
LeastSquaresResult fit_attention(const FitData& data, std::string_view name);
cost::learned::AttentionModel apply_attention(const std::vector<double>& x, const FitData& data,
                                              std::string_view name);

}  // namespace rooftile::calibration
