// SPDX-License-Identifier: Apache-2.0
//
// What the fitted forms need to know of a machine: its data sheet, what is attained of it, and a
// level that no data sheet states. The *plateau* is time over ideal time of a large matrix product:
//
//   tau = load watt(process) peak / board power            of a power-limited board (attained.h)
//   c   = max(1, peak / published ceiling)                 of the board, else of its chip
//   P   = max(kappa * c, tau)                              kappa counted from published ceilings
//         max(kappa, c, tau)                               kappa counted from the peak (AMD)
//         kappa * tensor_slowdown                          of products on tensor units (attained.h);
//                                                          lasting ones: * sustained_slowdown
//
// kappa belongs to a family of library kernels. Measured values replace the rules for GPUs that the
// fit has seen, and hold other boards with the same chip: one with less power per peak is not
// faster, one with more is not slower. The load of products comes from two power-limited boards;
// how the clock of a board of another kind falls under load is the largest uncertainty of the whole
// predictor.
#pragma once

#include "cost/attained.h"
#include "cost/learned/weights.h"
#include "cost/predictor.h"
#include "hardware/machine.h"

namespace rooftile::cost::learned {

struct Chip {
  double sms = 1;
  double peak = 1;          ///< FLOP/s of the units the kernel runs on
  double units = 1;         ///< full_units()
  double bandwidth = 1;     ///< bytes/s of DRAM, data sheet or measured
  double streaming = 1;     ///< fraction of it that streaming kernels attain
  double products = 1;      ///< fraction of it that products attain
  double l2 = 0;            ///< bytes; 0 when not stated
  double l2_bandwidth = 1;  ///< bytes/s
  double cluster = 1;       ///< hardware::LibraryFacts::cluster, where the kernel may have one
  double l1 = 0;            ///< bytes of one SM; 0 when not stated
  double threads = 2048;
  double clock = 1e9;
  double slower_clock = 1;  ///< 1410 MHz over the clock, of a model that counts in clocks
  double waiting = 0;       ///< FLOP/s whose time that of waiting units is stated in; 0: their own
};
/// For a model that counts in clocks.
Chip clocked(Chip chip, const GemmModel& model);

Chip chip_of(const Job& job, const hardware::Machine& machine, const Weights& weights);
/// In two steps: what all kernels share, without peak and bandwidth, and what the kernel adds.
Chip chip_of(const hardware::Machine& machine, const Weights& weights);
Chip bound_to(const Job& job, Chip chip);
/// How much faster the units of full-rate parts are: export and consumer parts keep the caches and
/// schedulers that feed units of two to four times their rate. On the same power those would clock
/// lower, by the cube root at most (attained.h).
double full_units(const hardware::GpuSpec& gpu, hardware::RateKey key);

/// c: the board's own published rate, else what those of the other boards with its chip imply. A
/// rate of FP16 holds for BF16 and the other way round where the data sheet's are equal.
double ceiling_factor(const hardware::GpuSpec& gpu, hardware::RateKey key, const Weights& weights);
/// max(1, peak / published rate of this kind), with the board's power; nothing where nobody
/// published one.
std::optional<BoardFactor> published_ceiling(const hardware::GpuSpec& gpu, hardware::RateKey key);
/// FP16 for BF16 and the other way round, where the GPU's units run both at the same rate.
std::optional<hardware::RateKey> same_units(const hardware::GpuSpec& gpu, hardware::RateKey key);
/// Board power over the peak; 0 where the file states no power.
double watt_per_tflop(const hardware::GpuSpec& gpu, hardware::RateKey key);

struct PlateauQuery {
  double peak = 1;
  hardware::RateKey key;
  bool measured_ceiling = false;  ///< `peak` was measured on this machine
  bool sustained = false;         ///< products that last: the board's power sets the clock
};
double plateau(const hardware::GpuSpec& gpu, const PlateauQuery& query, const Plateau& plateau,
               const Weights& weights);

/// "vendor/isa" where it exists, else "vendor"; nothing for a vendor that was never fitted.
const DeviceModel* find_model(const hardware::GpuSpec& gpu, const Weights& weights);

}  // namespace rooftile::cost::learned
