// SPDX-License-Identifier: Apache-2.0
//
// What runs when: the slices of a step on its tracks, for the trace writer.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace rooftile::report {

struct Slice {
  std::size_t track = 0;
  std::string name, category;
  double start_ms = 0, duration_ms = 0;
  std::vector<std::pair<std::string, std::string>> details = {};
};

/// Slices of one track do not overlap unless one holds the other.
struct Timeline {
  std::vector<std::string> tracks;
  std::vector<Slice> slices;
};

/// Made when a writer asks: a step has thousands of launches, and most formats show none of them.
using MakeTimeline = std::function<Timeline()>;

}  // namespace rooftile::report
