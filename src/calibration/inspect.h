// SPDX-License-Identifier: Apache-2.0
//
// What is in a data set before anything is fitted: rows, GPUs, campaigns, ranges, and rows that
// deserve a second look (faster than the bound, duplicated with another time, campaigns that
// contradict each other).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "calibration/dataset.h"

namespace rooftile::calibration {

struct GroupFacts {
  std::string name, gpu, campaign;  ///< class, catalogue id, campaign
  std::int64_t rows = 0;
  double shortest = 0, longest = 0;  ///< seconds
  std::int64_t below_bound = 0;      ///< rows faster than the bound
  std::int64_t duplicates = 0;       ///< rows whose shape occurred before
  double duplicate_spread = 0;       ///< mean |difference| of duplicates, relative
};

struct Suspicious {
  std::string where;  ///< file:line
  std::string reason;
};

struct Inspection {
  std::vector<GroupFacts> groups;
  cost::ByName<cost::learned::Range> ranges;
  /// Campaigns that disagree, rows that were skipped, times and GPUs that are not plausible.
  std::vector<std::string> notes;
  std::vector<Suspicious> suspicious;  ///< the first few
  std::int64_t suspicious_rows = 0;    ///< all of them
};

Inspection inspect(const Dataset& dataset);

}  // namespace rooftile::calibration
