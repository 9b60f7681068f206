// SPDX-License-Identifier: Apache-2.0
#include "profile/metric_table.h"

#include <algorithm>

#include "core/embedded_files.h"
#include "core/text.h"

namespace rooftile::profile {

namespace {

std::string_view table_text() {
  for (const EmbeddedFile& file : embedded_files()) {
    if (file.name == "metrics/nvidia.tsv") return file.content;
  }
  return {};
}

/// "# GV100=7.0 TU102=7.5 ..." -> the chips of one capability.
std::vector<std::string_view> chips_of(std::string_view header, std::string_view capability) {
  std::vector<std::string_view> chips;
  for (const std::string_view word : split(header, ' ')) {
    const std::size_t equals = word.find('=');
    if (equals != std::string_view::npos && word.substr(equals + 1) == capability) {
      chips.push_back(word.substr(0, equals));
    }
  }
  return chips;
}

}  // namespace

std::vector<ChipMetric> metrics_of(std::string_view capability) {
  std::vector<ChipMetric> result;
  std::vector<std::string_view> chips;
  for (const std::string_view line : split(table_text(), '\n')) {
    if (line.starts_with('#')) {
      if (line.find('=') != std::string_view::npos) chips = chips_of(line, capability);
      continue;
    }
    const auto cells = split(line, '\t');
    if (chips.empty() || cells.size() != 4 || cells[0] == "metric") continue;
    const auto listed = split(cells[3], ' ');
    const bool has = cells[3] == "all" ||
                     std::any_of(listed.begin(), listed.end(), [&chips](std::string_view chip) {
                       return std::find(chips.begin(), chips.end(), chip) != chips.end();
                     });
    if (has) {
      result.push_back({.name = std::string(cells[0]),
                        .unit = std::string(cells[1]),
                        .description = std::string(cells[2])});
    }
  }
  return result;
}

}  // namespace rooftile::profile
