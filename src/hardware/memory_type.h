// SPDX-License-Identifier: Apache-2.0
//
// What is known of a DRAM type: its data rates, the width and capacities of one stack or chip. One
// file per type, data/memory_types/<name>.json (docs/format/architecture.md). The ranges span the
// products of the catalogue and the commonly stated limits, with some slack; lint compares GPU
// files with them to catch slips, so a new part may rightly leave them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/catalog.h"
#include "core/result.h"

namespace rooftile::hardware {

struct MemoryType {
  std::string name;                      ///< "HBM3e"
  std::string kind;                      ///< "hbm" or "gddr": stacks, or chips on the board
  double least_gbit = 0, most_gbit = 0;  ///< per pin
  std::int64_t device_bits = 0;          ///< width of one stack or chip
  double least_gb = 0, most_gb = 0;      ///< capacity of that
  std::string file;                      ///< where it was loaded from
};

Result<MemoryType> parse_memory_type(std::string_view text, std::string file);
/// Nothing where the catalogue has no such type.
Result<std::optional<MemoryType>> find_memory_type(const Catalog& catalog, std::string_view name);
/// The names of all of them.
std::vector<std::string> memory_type_names(const Catalog& catalog);

}  // namespace rooftile::hardware
