// SPDX-License-Identifier: Apache-2.0
//
// DRAM reads of an implicit GEMM from reuse distances in the L2 (reuse_stack.h). The grid is walked
// wave by wave; the CTAs of a wave take their parts of k in steps, all together. In a step an
// operand without taps (filters, the gradient of a filter gradient, 1x1 layers) touches one block
// per tile. An image touches the blocks under its lanes and taps (footprint.h): a tile then meets
// the halo of its neighbours in another wave, and a filter gradient reads a row of pixels again for
// each row of taps, as many iterations later as an output row is long.
//
// Blocks start at a sector of one row and become coarser until the walk takes few enough touches. A
// grid that is long along m, or a filter gradient over many images, is walked in its beginning and
// extrapolated. Groups and parts of k that run one after another are represented by the first
// waves, those that run together by some of them with their share of the machine.
#pragma once

#include "traffic/sampled.h"

namespace rooftile::traffic {

/// Fills a.dram and b.dram from the compulsory bytes of `traffic`.
void model_dram(const ImplicitGemm& problem, const CacheMachine& machine, ReadTraffic& traffic);

}  // namespace rooftile::traffic
