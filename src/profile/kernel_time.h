// SPDX-License-Identifier: Apache-2.0
//
// Time of a kernel's launches, from whichever counters are there. A trace's own duration comes
// first: it was taken without replay and at the clocks of the real run.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "profile/raw_profile.h"

namespace rooftile::profile {

struct KernelTime {
  double total = 0.0;               ///< seconds, all launches
  std::vector<double> per_launch;   ///< seconds, where launches are known one by one
  std::string text;                 ///< the formula
  bool partial = false;             ///< some launches had n/a
  std::vector<double> cycles = {};  ///< of each launch, where they were counted
};

std::optional<KernelTime> kernel_time(const KernelSeries& kernel, bool mean_clock);

}  // namespace rooftile::profile
