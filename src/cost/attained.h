// SPDX-License-Identifier: Apache-2.0
//
// What kernels of every class reach of a machine, resolved once per machine: the shares of the DRAM
// bandwidth that they attain, the rate of the L2, the clock that the board's power sustains,
// and the gap between two kernels. What was measured on the machine itself (--machine) comes first
// and is attained by definition.
//
// The clock. FP32 work at the full rate draws
//
//   load * watt(process) * peak        watts, `watt` in W per TFLOP/s (ClockConstants)
//
// and a board whose limit is below that slows down until the two are equal. `load` is 1 for
// convolutions, which `watt` is fitted on (28 nm: M40 and TITAN X, 16 and 12 nm: P4 and T4);
// products draw more (learned::Plateau::load). At 8 and 4 nm the rule gives the FP32 rates that
// were published for A40 and L40 with the load of products. A GPU whose file states no power or
// process holds its boost clock.
#pragma once

#include <optional>
#include <string>

#include "core/units.h"
#include "cost/constants.h"
#include "hardware/machine.h"

namespace rooftile::cost {

/// The clock at which numbers that depend on clocks are stated: that of A100.
inline constexpr double kReferenceClock = 1410e6;

struct Attained {
  // Of Machine::bandwidth(Dram), by kernels that only stream, by products and by convolutions.
  double streaming = 1, products = 1, convolutions = 1;
  BytesPerSecond l2;  ///< read
  double clock = 1;   ///< sustained by convolutions, of boost
  Seconds launch;     ///< between two kernels of one stream
};
Attained attained(const hardware::Machine& machine, const Constants& constants);

/// Between two kernels of one stream: measured on the machine, else that of the measured steps.
Seconds launch_gap(const hardware::Machine& machine, const StepConstants& constants);

/// What collectives reach of links where somebody measured them.
LinkConstants calibrated_links(LinkConstants links, const hardware::LinkFactors& factors);
/// Those of the machine: measured ones, else as they were fitted.
LinkConstants links_of(const hardware::Machine& machine, const LinkConstants& fitted);

/// Watts that work of `load` at FP32 rate `peak` (FLOP/s) would draw over what the board has: above
/// 1 its clock falls by this factor. Nothing when the file states no process or power.
std::optional<double> power_demand(const hardware::GpuSpec& gpu, double peak, double load,
                                   const ClockConstants& clock);

/// The same for products on tensor units. Their energy per operation grows with the square of the
/// clock that the peak is quoted at, as voltage follows it, and falls with the width of the
/// operands:
///
///   tensor_share * watt(process) * narrow^log2(16 bit / width) * (clock / 1410 MHz)^2 * peak
std::optional<double> tensor_demand(const hardware::GpuSpec& gpu, hardware::RateKey key,
                                    const ClockConstants& clock);
/// The factor by which such products are slower than at that clock, at least 1; nothing where the
/// file states no process, power or peak.
std::optional<double> tensor_slowdown(const hardware::GpuSpec& gpu, hardware::RateKey key,
                                      const ClockConstants& clock);
/// How much slower yet such products are where they last: a benchmark of a few calls on idle numbers
/// is over before the board's power sets the clock, a step is not. At least 1; 1 where the file
/// states no process, power or peak.
double sustained_slowdown(const hardware::GpuSpec& gpu, hardware::RateKey key,
                          const ClockConstants& clock);

/// Share of the data sheet's DRAM bandwidth that streaming kernels reach.
double streaming_fraction(const hardware::GpuSpec& gpu, const Streaming& streaming);
/// "8.0/HBM2".
std::string sibling_key(const hardware::GpuSpec& gpu);
/// The published copy (else read) bandwidth over the data sheet's.
std::optional<double> published_fraction(const hardware::GpuSpec& gpu);

}  // namespace rooftile::cost
