// SPDX-License-Identifier: Apache-2.0
//
// Which counters a chip has: data/metrics/nvidia.tsv, generated from CUPTI's host library
// (tests/cupti), so that the command line we suggest works on the chip that was profiled.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace rooftile::profile {

struct ChipMetric {
  std::string name;  ///< base name, without ".sum"
  std::string unit, description;
};

/// Counters on the chips of this compute capability ("8.0"), sorted by name; empty when it is not
/// in the table. Where chips of one capability differ (TU102, TU116), the best equipped one counts.
std::vector<ChipMetric> metrics_of(std::string_view capability);

}  // namespace rooftile::profile
