// SPDX-License-Identifier: Apache-2.0
//
// What exports say about a kernel without counting what it did: rates (the RooflineChart section of
// Nsight Compute has FLOP per cycle, clock and bandwidths, but no time) and the shares of peak that
// its units reached.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "profile/counting.h"
#include "profile/kernel_record.h"
#include "profile/kernel_time.h"

namespace rooftile::profile {

struct RatesFound {
  Rates rates;
  std::vector<std::pair<std::string, std::string>> formulas;  ///< quantity and text
};

/// Of a kernel without a time; nothing where no counter is a rate.
std::optional<RatesFound> rates_of(const KernelSeries& kernel, const Counting& counting);

/// Means over launches, by time where that is known.
SpeedOfLight speed_of_light(const KernelSeries& kernel, const KernelTime* time);

}  // namespace rooftile::profile
