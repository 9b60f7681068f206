// SPDX-License-Identifier: Apache-2.0
//
// What the time of a kernel or of a step can go to: one list for bounds, estimates, charts and
// what-if studies.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace rooftile::hardware {

enum class Resource : std::uint8_t {
  Compute,  ///< vector lanes or matrix units
  Shared,   ///< bandwidth of shared memory
  L1,       ///< bandwidth
  L2,
  Dram,
  Link,     ///< between GPUs
  Latency,  ///< loads that nothing hides
  Launch,   ///< start of a kernel, and the gap to the one before
  Host,     ///< a host that cannot launch fast enough
};
inline constexpr std::array kAllResources{Resource::Compute, Resource::Shared, Resource::L1,
                                          Resource::L2,      Resource::Dram,   Resource::Link,
                                          Resource::Latency, Resource::Launch, Resource::Host};
inline constexpr std::size_t kResources = kAllResources.size();

/// compute shared l1 l2 dram link latency launch host
std::string_view name_of(Resource resource);

}  // namespace rooftile::hardware
