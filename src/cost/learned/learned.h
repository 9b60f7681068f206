// SPDX-License-Identifier: Apache-2.0
//
// The fitted predictor and the baselines that every table shows next to it:
//
//   rooftile  physics-shaped forms with fitted constants (gemm_form, row_form); convolutions
//             by the analytical model (conv_time.h) with a fitted host time
//   roofline  max(FLOP / peak, compulsory bytes / DRAM bandwidth)
//   trivial   roofline / utilization + overhead, two fitted numbers per class
//
// None is faster than the hierarchical bound. Operators without measurements of their own use the
// constants of the nearest class and are marked `extrapolated`, as is every kernel whose size,
// dtype or vendor lies outside what the weights were fitted on.
#pragma once

#include <memory>

#include "cost/learned/weights.h"
#include "cost/predictor.h"

namespace rooftile::cost::learned {

/// max(FLOP / peak, bytes / bandwidth) in seconds.
double dram_roofline(const Job& job);
/// The two terms of that maximum; `seconds` is what a model makes of them.
Breakdown roofline_breakdown(const Job& job, double seconds);

std::unique_ptr<Predictor> make_learned(Weights weights);
std::unique_ptr<Predictor> make_roofline();
std::unique_ptr<Predictor> make_trivial(Weights weights);

}  // namespace rooftile::cost::learned
