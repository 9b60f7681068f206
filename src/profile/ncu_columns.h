// SPDX-License-Identifier: Apache-2.0
//
// Where a table of Nsight Compute keeps what; every page has other columns.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string>

#include "core/result.h"
#include "profile/delimited.h"
#include "profile/number_text.h"

namespace rooftile::profile {

struct NcuColumns {
  using Index = std::optional<std::size_t>;
  Index id, process, kernel, metric, unit, value, section, invocations, average, count;
  Index grid, block, cc;
  Index device_name, cc_major, cc_minor, sm_count;
  std::array<Index, 3> grid_dim, block_dim;  ///< of raw pages
};

NcuColumns find_ncu_columns(const LineFields& header);

/// Nsight Compute prints two decimals, so a comma before three digits separates thousands; a point
/// there does so in other locales: refused where nothing in the file tells.
Status check_decided(const NumberFormat& numbers, const std::string& file);

}  // namespace rooftile::profile
