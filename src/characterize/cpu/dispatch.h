// SPDX-License-Identifier: Apache-2.0
//
// Run-time dispatch: which kernel tables this processor can run, best first.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "characterize/cpu/kernels.h"

namespace rooftile::characterize::cpu {

/// The function of `kernels` that does `flops` FLOPs per element; null where there is none.
Kernel kernel_for(const UpdateKernels& kernels, std::int64_t flops);
/// What it is called with: KernelArguments::blocks.
std::int64_t blocks_for(std::int64_t flops);
/// The smallest number of FLOPs per element, or nothing where the format has no kernels.
std::optional<std::int64_t> least_flops(const UpdateKernels& kernels);

/// Tables with all streaming patterns, best first.
std::vector<const KernelTable*> base_tables();
/// Tables that add number formats, best first; only those that go with `base`.
std::vector<const KernelTable*> extension_tables(const KernelTable& base);

}  // namespace rooftile::characterize::cpu
