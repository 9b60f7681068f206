// SPDX-License-Identifier: Apache-2.0
//
// Time of fused attention, from how its library cuts it. A thread block owns a tile of queries of
// one head (or of a group of heads that share keys) and walks over the keys in blocks of 128:
//
//   block   = rows 128 (products FLOP(pair) / peak of an SM + exponentials / rate of exponentials)
//             + load head / 128
//   compute = max(all blocks / SMs + tiles / SMs tile,  longest tile block + tile)
//   dram    = memory bytes / attained bandwidth
//   time    = start + (compute^join + dram^join)^(1 / join) + (split + part parts) [keys are split]
//
// Products run at the clock that the board's power sustains (attained.h). start, split and part are counted in clocks: they are chains of latencies, and the shortest calls of
// libraries on parts of 1.4 to 2.5 GHz take the same number of them.
// The exponentials are not hidden behind the products: while the rate of products doubled with
// every generation, theirs stayed, so short heads reach less of the peak than long ones. Rows are
// rounded up to what an instruction multiplies; masked blocks are not visited. With one query the
// same form streams the cache; where tiles are fewer than SMs the keys are split and the parts
// reduced. Terms that overlap in a real kernel (loads of one block with products of another) are
// only seen through the fitted factors.
#pragma once

#include "cost/estimate.h"
#include "cost/learned/chip.h"
#include "cost/learned/weights.h"
#include "hardware/gpu_spec.h"
#include "ops/kernel_work.h"

namespace rooftile::cost::learned {

/// The part of the form that depends on no parameter.
struct AttentionCut {
  double ctas = 1;     ///< tiles of queries, over all heads and sequences
  double blocks = 1;   ///< of 128 keys that they visit together
  double longest = 1;  ///< of these, of one tile
  double splits = 1;   ///< parts of the keys that run apart
  double sms = 1;
  double product_seconds = 0;      ///< of a block at the data sheet's rate
  double units = 1;                ///< Chip::units
  double exponential_seconds = 0;  ///< of a block
  double head = 1;                 ///< size of a head over 128
  double stream_seconds = 0;       ///< of the moved bytes at the attained bandwidth
  double new_seconds = 0;          ///< the same of copying the new keys and values
  double new_per_thread = 0;       ///< bytes of them over the threads that the GPU holds
  std::int64_t rows = 128;         ///< of a whole tile
  double slower_clock = 1;         ///< 1410 MHz over the clock
};

AttentionCut cut_attention(const Job& job, const ops::AttentionShape& shape, const Chip& chip,
                           const hardware::GpuSpec& gpu, const ClockConstants& clock);

/// `resident`: queries, keys and values are in L2 and nothing is read from DRAM.
Breakdown attention_time(const AttentionCut& cut, const AttentionParameters& p, bool resident);

/// A serving engine's kernel that writes the new keys and values to its cache: every thread copies
/// element by element, as long as DRAM keeps up.
double cache_seconds(const AttentionCut& cut, const AttentionParameters& p, bool resident);

/// Those of the GPU's kernels, else what all families have in common.
const AttentionParameters& parameters_for(const AttentionModel& model,
                                          const hardware::GpuSpec& gpu);

}  // namespace rooftile::cost::learned
