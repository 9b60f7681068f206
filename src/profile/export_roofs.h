// SPDX-License-Identifier: Apache-2.0
//
// The roofs that an export of Nsight Compute allows by itself: the peak per cycle of a unit times
// the clock that it ran at, the highest over all kernels.
#pragma once

#include <vector>

#include "profile/kernel_record.h"
#include "profile/raw_profile.h"

namespace rooftile::profile {

std::vector<ExportRoof> export_roofs(const RawProfile& profile);

}  // namespace rooftile::profile
