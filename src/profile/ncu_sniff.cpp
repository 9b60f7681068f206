// SPDX-License-Identifier: Apache-2.0
//
// How output of Nsight Compute is recognised.
#include "core/text.h"
#include "profile/delimited.h"
#include "profile/importer.h"
#include "profile/ncu_labels.h"

namespace rooftile::profile {

bool recognises_ncu(std::string_view head) {
  if (head.find("==PROF==") != std::string_view::npos ||
      head.find("Nsight Compute Command Line Profiler") != std::string_view::npos) {
    return true;
  }
  for (const std::string_view line : split(head, '\n')) {
    if (line.find("Kernel Name") != std::string_view::npos &&
        (line.find("Metric Name") != std::string_view::npos || looks_like_counter(line)) &&
        header_delimiter(line.ends_with('\r') ? line.substr(0, line.size() - 1) : line,
                         "Kernel Name")) {
      return true;
    }
    if (line.starts_with("  ") && line.find(", Context ") != std::string_view::npos &&
        line.find(", Stream ") != std::string_view::npos) {
      return true;
    }
  }
  return false;
}

}  // namespace rooftile::profile
