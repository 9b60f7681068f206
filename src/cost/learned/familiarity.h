// SPDX-License-Identifier: Apache-2.0
//
// What a fit has seen of a machine's kin in one class of kernels: intervals are as wide as errors
// were on machines of which as little was known. A board that has to slow down further than any
// that was measured is one step less familiar than its silicon.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "cost/constants.h"
#include "hardware/gpu_spec.h"

namespace rooftile::cost::learned {

/// Best known first.
enum class Familiarity : std::uint8_t {
  Chip,          ///< a board with the same chip was measured
  Architecture,  ///< the same instruction set
  Family,        ///< the same family of library kernels
  Nothing
};
inline constexpr std::size_t kFamiliarities = 4;
inline constexpr std::array<const char*, kFamiliarities> kFamiliarityNames{"chip", "architecture",
                                                                           "family", "nothing"};

/// The machines whose kernels of a class were measured.
struct Kin {
  std::vector<std::string> chips, architectures, families;  ///< sorted
  double demand = 1;  ///< highest power demand over what a board has; 1 where none is limited
};

/// Adds what `gpu` says about others.
void add_kin(const hardware::GpuSpec& gpu, std::string_view kernel_class,
             const ClockConstants& clock, Kin& kin);
Familiarity familiarity(const hardware::GpuSpec& gpu, std::string_view kernel_class,
                        const ClockConstants& clock, const Kin& kin);

}  // namespace rooftile::cost::learned
