// SPDX-License-Identifier: Apache-2.0
//
// What-if machines: a machine with quantities of it multiplied by a factor, for every model that
// reads a Machine.
//
//   key        what is multiplied
//   sms        number of SMs (with their lanes, registers, L1); L2 and DRAM stay
//   lanes      multiply-adds per clock and SM, of the vector lanes and of the matrix units
//   sm_memory  registers and shared memory per SM: more co-resident CTAs
//   shared_bw, l1_bw  bytes per clock and SM
//   l2_bw, dram_bw    bytes per second
//   l2_size
//   clock      of the SMs; L2 and DRAM bandwidths stay
//
// What was measured or published of the part is multiplied along, so that ratios stay: attained
// over peak bandwidth, best product over peak rate. So does the board's power with its peak: the
// clock that it sustains stays the same fraction of boost. A bandwidth that the GPU's file does not
// state has nothing to multiply. Names and sources stay: models that know the part by its id keep
// what they know of it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "core/result.h"
#include "hardware/machine.h"

namespace rooftile::hardware {

enum class MachineKey : std::uint8_t {
  Sms,
  Lanes,
  SmMemory,
  SharedBandwidth,
  L1Bandwidth,
  L2Bandwidth,
  L2Size,
  DramBandwidth,
  Clock
};
inline constexpr std::array kAllMachineKeys{MachineKey::Sms,         MachineKey::Lanes,
                                            MachineKey::SmMemory,    MachineKey::SharedBandwidth,
                                            MachineKey::L1Bandwidth, MachineKey::L2Bandwidth,
                                            MachineKey::L2Size,      MachineKey::DramBandwidth,
                                            MachineKey::Clock};
inline constexpr std::size_t kMachineKeys = kAllMachineKeys.size();

/// sms lanes sm_memory shared_bw l1_bw l2_bw l2_size dram_bw clock
std::string_view name_of(MachineKey key);
Result<MachineKey> parse_machine_key(std::string_view text);

/// A factor per key.
class Factors {
 public:
  Factors() { values_.fill(1.0); }
  [[nodiscard]] static Factors one(MachineKey key, double factor) {
    Factors factors;
    factors.set(key, factor);
    return factors;
  }
  [[nodiscard]] double of(MachineKey key) const { return values_[static_cast<std::size_t>(key)]; }
  void set(MachineKey key, double factor) { values_[static_cast<std::size_t>(key)] = factor; }
  bool operator==(const Factors&) const = default;

 private:
  std::array<double, kMachineKeys> values_{};
};

/// Whole SMs, at least one; everything else in proportion.
Machine scaled(const Machine& machine, const Factors& factors);

}  // namespace rooftile::hardware
