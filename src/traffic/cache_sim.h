// SPDX-License-Identifier: Apache-2.0
//
// Trace-driven simulation of per-SM L1 caches and a shared L2: lines of sectors (access.h),
// set-associative with a hashed set index, true LRU, read-allocate. CTAs run in lock-step waves:
// CTA i of a wave sits on SM i % sm_count; in every main-loop iteration each SM loads the A tile
// and then the B tile of each of its CTAs. It is the ground truth for the algebra of this layer and
// an idealisation of hardware: no miss-status registers, no drift between CTAs, no writes, no
// replacement but LRU. About 20 million line requests per second and core.
#pragma once

#include <cstdint>
#include <vector>

#include "core/result.h"
#include "rooftile/progress.h"
#include "traffic/implicit_gemm.h"

namespace rooftile::traffic {

/// How a line finds its set. A plain modulo would let the power-of-two pitch of filters collide in
/// few sets.
enum class SetHash : std::uint8_t {
  Multiply,  ///< L1, as in the reference table: equal steps of the address are equal steps of the
             ///< index, so that rows of some pitches crowd
  Mix        ///< L2, whose slices hash whole addresses: sets fill like a Poisson variable
};

class SectoredCache {
 public:
  SectoredCache(std::int64_t lines, std::int64_t ways, SetHash hash);
  /// The mask of the requested sectors that miss; they are filled.
  std::uint32_t access(std::int64_t line, std::uint32_t sectors);
  void clear();

 private:
  [[nodiscard]] std::int64_t set_of(std::int64_t line) const;
  std::int64_t sets_, ways_;
  SetHash hash_;
  std::vector<std::int64_t> tags_;
  std::vector<std::uint8_t> valid_;
};

/// The caches as the simulator and the sampled model see them.
struct CacheMachine {
  std::int64_t sm_count = 1, active_ctas = 1;
  std::int64_t l1_bytes = 0, l1_ways = 4, l2_bytes = 0, l2_ways = 16;
  CtaOrder order = CtaOrder::Column;
  std::int64_t swizzle_rows = 8;  ///< m-tiles per panel of the swizzled order
  [[nodiscard]] std::int64_t wave() const { return sm_count * active_ctas; }
};

/// Bytes read at each level.
struct OperandTraffic {
  double l1 = 0, l2 = 0, dram = 0;
};

struct SimulatedTraffic {
  OperandTraffic a, b;
  std::int64_t accesses = 0;  ///< line requests presented to L1
};

struct CtaIndex {
  std::int64_t m = 0, n = 0, z = 0;  ///< z counts groups, and parts of k within a group
};

CtaIndex cta_at(const ImplicitGemm& problem, std::int64_t id, const CacheMachine& machine);

/// An upper estimate of SimulatedTraffic::accesses, to tell the time a simulation will take.
double estimated_accesses(const ImplicitGemm& problem);

/// `progress` may be empty; when it returns false the simulation stops with an error.
Result<SimulatedTraffic> simulate(const ImplicitGemm& problem, const CacheMachine& machine,
                                  const Progress& progress);

}  // namespace rooftile::traffic
