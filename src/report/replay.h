// SPDX-License-Identifier: Apache-2.0
//
// `rooftile predict --replay`: does a report come out again, and if not, what is different.
#pragma once

#include <string>
#include <vector>

#include "rooftile/provenance.h"

namespace rooftile::report {

/// A value of the report that was not repeated.
struct ReplayDifference {
  std::string pointer;    ///< into the report: "/latency/total_ms"
  std::string then, now;  ///< as JSON; empty where there is none
};

struct ReplayReport {
  std::string file;
  double then_ms = 0, now_ms = 0;             ///< the step
  std::vector<ReplayDifference> differences;  ///< of the results; empty: reproduced
  std::vector<std::string> changes;           ///< of version, commit and inputs, as sentences
  ProvenanceReport provenance{};              ///< now
  std::vector<std::string> warnings;          ///< of the prediction, now

  [[nodiscard]] bool reproduced() const { return differences.empty(); }
};

}  // namespace rooftile::report
