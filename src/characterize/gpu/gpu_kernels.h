// SPDX-License-Identifier: Apache-2.0
//
// Which kernel runs a pattern in a number format. A format is offered when the module that the
// driver loaded has the kernel; kernels exist only for architectures with their instruction.
#pragma once

#include <span>

#include "characterize/measurement.h"
#include "core/dtype.h"
#include "hardware/rate_key.h"

namespace rooftile::characterize::gpu {

struct KernelName {
  Pattern pattern;
  DType dtype;
  hardware::Pipe pipe;
  const char* name;
};

/// Of one pattern and format the faster kernels come first. A second kernel of mma that a module
/// has is the warp-level product where larger groups are faster: it runs mma_sync.
std::span<const KernelName> kernel_names();

}  // namespace rooftile::characterize::gpu
