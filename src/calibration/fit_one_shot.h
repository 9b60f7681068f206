// SPDX-License-Identifier: Apache-2.0
//
// The all-reduce of serving engines (cost::OneShotForm), fitted to measured ones: the layout of
// custom_allreduce_GPU.csv (graph, allreduce_dtype, num_gpus, message_size in elements, latency in
// ms). Rows outside captured graphs are host time, and above some megabytes engines call the
// vendor's library: neither is looked at.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/catalog.h"
#include "core/result.h"
#include "cost/stack_costs.h"
#include "hardware/system.h"

namespace rooftile::calibration {

struct OneShotRow {
  std::string gpu;
  std::int64_t gpus = 2;
  double bytes = 0, seconds = 0;
  hardware::GroupLink link;
};

/// True for files of this layout, by their header.
Result<bool> is_one_shot(const std::string& file);
Result<std::vector<OneShotRow>> read_one_shot(const std::string& file, const Catalog& catalog);

cost::OneShotForm fit_one_shot(const std::vector<OneShotRow>& rows);

}  // namespace rooftile::calibration
