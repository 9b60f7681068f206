// SPDX-License-Identifier: Apache-2.0
//
// The hierarchical roofline as a lower bound on a kernel's time:
//
//   t >= max( FLOP / rate(dtype, pipe),  bytes_l1 / BW_l1,  bytes_l2 / BW_l2,
//             (bytes_dram - what L2 may already hold) / BW_dram,  launch )
//
// The bytes are the compulsory ones (traffic::compulsory): what the modelled kernel moves beyond
// them is reported with the bound, as a better kernel may avoid it. FLOP are those of the direct
// algorithm, except for convolutions of stride 1: Winograd's F(4x4) and tiled FFTs multiply less
// (3x3: four times, 5x5: nine times). Levels whose bandwidth is unknown do not take part: the bound
// gets weaker, never wrong. Wave quantisation is not in it; it is TilePlan::wave_factor(), reported
// as well. Rates are dense data-sheet peaks at the quoted clocks unless measured ceilings are
// attached to the machine; a board that boosts above its quoted clock can beat the bound by that
// ratio.
#pragma once

#include <array>
#include <optional>

#include "cost/estimate.h"
#include "hardware/machine.h"
#include "ops/kernel_work.h"

namespace rooftile::cost {

/// Shortest time from start to end of any kernel. The shortest of 357,000 GEMMs replayed from CUDA
/// graphs on A100, H100, H200 and L40S took 1.65 us (AIConfigurator tables), so 1.5 us is below
/// all of them.
inline constexpr Seconds kLaunchFloor = Seconds::from_base(1.5e-6);

/// The rates of one machine that a kernel needs, looked up once.
struct Roof {
  FlopsPerSecond compute;
  std::optional<BytesPerSecond> l1, l2;
  BytesPerSecond dram;
};

/// The FLOPs that the bound charges: those of the direct algorithm, or for convolutions of stride 1
/// without dilation the fewest of it, Winograd's F(4x4, r x s) and FFTs of 32x32 tiles.
Flops least_flops(const ops::KernelWork& work);

struct Bound {
  Seconds time;
  Resource limiter = Resource::Compute;
};

/// The resources of the maximum.
inline constexpr std::array kRoofs{Resource::Compute, Resource::L1, Resource::L2, Resource::Dram,
                                   Resource::Launch};
/// Their terms, indexed by Resource; absent where the machine states no rate.
using BoundTerms = std::array<std::optional<Seconds>, kResources>;
BoundTerms bound_terms(const ops::KernelWork& work, const traffic::Traffic& traffic,
                       const Roof& roof);

/// The largest term.
Bound bound(const ops::KernelWork& work, const traffic::Traffic& traffic, const Roof& roof);

/// Sets the bound of the compulsory bytes and the time that `breakdown` gives, or the bound where
/// that is longer; then the breakdown is the bound's. No interval yet.
void set_time(const ops::KernelWork& work, const Roof& roof, const hardware::GpuSpec& gpu,
              const Breakdown& breakdown, Estimate& estimate);

}  // namespace rooftile::cost
