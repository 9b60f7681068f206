// SPDX-License-Identifier: Apache-2.0
//
// DRAM reads of an implicit GEMM from a block-granular LRU of the L2. A block is one operand tile
// in one chunk of k; CTAs of a wave walk the chunks in step, so the order of the grid, groups and
// split-K decide which blocks meet in the L2. Hashed sets are loaded like a Poisson variable: a
// line that d others have followed is gone with P(Poisson(w d / C) >= w) = P(Gamma(w) <= w d / C)
// in w ways and C lines, as if the capacity were C Gamma(w) / w. The mean over eight of its
// quantiles stands for that spread and smooths the cliff at capacity.
#pragma once

#include "traffic/sampled.h"

namespace rooftile::traffic {

/// Fills a.dram and b.dram from the compulsory bytes of `traffic`.
void model_dram(const ImplicitGemm& problem, const CacheMachine& machine, ReadTraffic& traffic);

}  // namespace rooftile::traffic
