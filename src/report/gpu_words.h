// SPDX-License-Identifier: Apache-2.0
//
// Words that the list of GPUs, the report of one and lint share.
#pragma once

#include <fmt/format.h>

#include <string>
#include <vector>

namespace rooftile::report {

/// "dram-product at /memory/dram and 2 more: the vendor prints ..."
inline std::string exception_text(const std::string& rule, const std::string& reason,
                                  const std::vector<std::string>& pointers) {
  return fmt::format(
      "{} at {}{}: {}", rule, pointers.front(),
      pointers.size() > 1 ? fmt::format(" and {} more", pointers.size() - 1) : std::string(),
      reason);
}

}  // namespace rooftile::report
