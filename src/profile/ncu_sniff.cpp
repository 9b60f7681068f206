// SPDX-License-Identifier: Apache-2.0
//
// How output of Nsight Compute is recognised.
#include <algorithm>

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
  const std::vector<std::string_view> lines = split(head, '\n');
  return std::any_of(lines.begin(), lines.end(), [](std::string_view line) {
    const bool header =
        line.find("Kernel Name") != std::string_view::npos &&
        (line.find("Metric Name") != std::string_view::npos || looks_like_counter(line)) &&
        header_delimiter(line.ends_with('\r') ? line.substr(0, line.size() - 1) : line,
                         "Kernel Name")
            .has_value();
    const bool text_page = line.starts_with("  ") &&
                           line.find(", Context ") != std::string_view::npos &&
                           line.find(", Stream ") != std::string_view::npos;
    return header || text_page;
  });
}

}  // namespace rooftile::profile
