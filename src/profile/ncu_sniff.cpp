// SPDX-License-Identifier: Apache-2.0
//
// How output of Nsight Compute is recognised.
#include <algorithm>

#include "core/text.h"
#include "profile/delimited.h"
#include "profile/importer.h"
#include "profile/ncu_labels.h"

namespace rooftile::profile {

bool is_launch_line(std::string_view line) {
  const auto has = [line](std::string_view text) {
    return line.find(text) != std::string_view::npos;
  };
  return (has(", Context ") && has(", Stream ")) || (has(", Device ") && has(", Invocations "));
}

bool recognises_ncu(std::string_view head) {
  if (head.find("==PROF==") != std::string_view::npos ||
      head.find("Nsight Compute Command Line Profiler") != std::string_view::npos) {
    return true;
  }
  const std::vector<std::string_view> lines = split(head, '\n');
  return std::any_of(lines.begin(), lines.end(), [](std::string_view line) {
    if (line.ends_with('\r')) line.remove_suffix(1);
    const bool metrics = line.find("Metric Name") != std::string_view::npos;
    const bool header =
        (metrics || looks_like_counter(line)) && header_delimiter(line, "Kernel Name").has_value();
    const bool per_gpu = metrics && line.find("Average") != std::string_view::npos &&
                         header_delimiter(line, "Invocations").has_value();
    return header || per_gpu || (line.starts_with("  ") && is_launch_line(line));
  });
}

}  // namespace rooftile::profile
