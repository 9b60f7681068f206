// SPDX-License-Identifier: Apache-2.0
//
// Traffic of an implicit GEMM without simulating all of it, in milliseconds whatever its size.
//
//   L1    the distinct sectors of warp requests, counted exactly on a sample of tiles and
//         iterations (last tile and last iteration are strata of their own);
//   L2    the L1 of a few SM slots is replayed for some tens of iterations. Slots are classed by
//         the number of CTAs, distinct A tiles, distinct B tiles and partial tiles they hold, and
//         the classes counted. Where an L1 outlives a wave, whole waves or whole SMs are replayed;
//   DRAM  reuse distances in the L2 over blocks of the tensors (block_lru.h).
//
// Layers of few requests are simulated as a whole: sampling them would take longer.
//
// Agreement with cache_sim.h (`rooftile evaluate traffic random`): L1, L2 and DRAM each below 1 %
// on average. Weak below 48 KB of L2 per SM. The L2 part replays the simulator's own
// cache: it shows that the sampling is right, not that hardware behaves like this.
#pragma once

#include "traffic/cache_sim.h"

namespace rooftile::traffic {

struct ReadTraffic {
  OperandTraffic a, b;
  double compulsory_a = 0, compulsory_b = 0;  ///< bytes of the sectors touched at least once
  double partial_sums = 0;     ///< of split-K, read by its reduction; in neither operand
  double dram_written = 0;     ///< output, and split-K partial sums
  bool counted_whole = false;  ///< simulated, nothing sampled
};

enum class Counting : std::uint8_t {
  Adaptive,  ///< the whole layer where that is cheap
  Sampled    ///< never; compares the sampling with the simulator on layers of any size
};

/// compulsory <= DRAM <= L2 <= L1 holds for each operand.
ReadTraffic sampled_traffic(const ImplicitGemm& problem, const CacheMachine& machine,
                            Counting counting = Counting::Adaptive);

/// At most `limit` indices of [0, count), evenly spread, first and last included.
std::vector<std::int64_t> spread(std::int64_t count, std::int64_t limit);

}  // namespace rooftile::traffic
