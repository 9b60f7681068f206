// SPDX-License-Identifier: Apache-2.0
//
// Run-time dispatch: which kernel tables this processor can run, best first.
#pragma once

#include <vector>

#include "characterize/cpu/kernels.h"

namespace rooftile::characterize::cpu {

/// Tables with all streaming patterns, best first.
std::vector<const KernelTable*> base_tables();
/// Tables that add number formats, best first; only those that go with `base`.
std::vector<const KernelTable*> extension_tables(const KernelTable& base);

}  // namespace rooftile::characterize::cpu
