// SPDX-License-Identifier: Apache-2.0
//
// Rows of the reader table (layouts.h) that are not one call of an operator: collectives, traced
// nodes, fused layers, whole steps, counted and simulated bytes.
#pragma once

#include <optional>
#include <string_view>

#include "calibration/layouts.h"

namespace rooftile::calibration {

/// bfloat16, float16, fp8; nothing for formats whose kernels are not modelled (fp8_block, nvfp4).
std::optional<DType> dtype_named(std::string_view text);

Status collective_row(const Source& s, const Place& place, Dataset& dataset);
Status node_row(const Source& s, const Place& place, Dataset& dataset);
Status moe_row(const Source& s, const Place& place, Dataset& dataset);
Status step_row(const Source& s, const Place& place, Dataset& dataset);
Status counter_row(const Source& s, const Place& place, Dataset& dataset);
/// `place` has no GPU: the row states its caches.
Status simulated_row(const Source& s, const Place& place, Dataset& dataset);

}  // namespace rooftile::calibration
