// SPDX-License-Identifier: Apache-2.0
//
// One kernel name often serves several shapes. Launches with the same grid, the same block and the
// same instruction counts do the same work: they form a group, and the counters of a group describe
// one shape. Times and bytes differ from launch to launch and do not tell groups apart.
#pragma once

#include <vector>

#include "profile/raw_profile.h"

namespace rooftile::profile {

/// The launches of a kernel, group by group in the order of their first launch. Empty where the
/// export does not list launches one by one, where a counter lacks some of them, or where more than
/// 4096 differ.
std::vector<KernelSeries> launch_groups(const KernelSeries& kernel);

}  // namespace rooftile::profile
