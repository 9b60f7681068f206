// SPDX-License-Identifier: Apache-2.0
//
// The CUDA kernels as PTX text, written for the compute capability of the device and compiled by
// its driver: no compiler is needed to build the program, and every architecture gets the
// instructions that its peak needs (sm_70 to sm_120; wgmma on sm_90a, tcgen05 on sm_100a), also
// those that today's compilers no longer target. All kernels take the same arguments:
//   a, b, c  arrays      n  vectors of 16 bytes      passes  rounds      links  FMAs per element
// `links` is 0 for all but the update kernels. The loops add it to their addresses, so that ptxas
// cannot know that a pass loads what the pass before has loaded, and drop it.
#pragma once

#include <string>

namespace rooftile::characterize::gpu {

struct ComputeCapability {
  int major = 0, minor = 0;
  auto operator<=>(const ComputeCapability&) const = default;
};

/// "sm_90a" for 9.0: the newest target that runs on the device; nothing (empty) before 7.0.
std::string ptx_target(ComputeCapability of);

/// The whole module; empty before 7.0.
std::string ptx_module(ComputeCapability of);

}  // namespace rooftile::characterize::gpu
