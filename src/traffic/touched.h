// SPDX-License-Identifier: Apache-2.0
//
// Which pixels, sectors and lines of a tensor a gather view touches at least once: the compulsory
// bytes of an operand. Padding, strides and dilation leave rows and columns out.
#pragma once

#include <vector>

#include "traffic/implicit_gemm.h"

namespace rooftile::traffic {

/// Rows of a plane that some lane reaches under some tap, and columns.
std::vector<bool> touched_rows(const GatherView& view);
std::vector<bool> touched_columns(const GatherView& view);

/// Bytes of the distinct units (sectors or lines, `unit` bytes each) that the view touches.
double touched_bytes(const GatherView& view, std::int64_t element_bytes, std::int64_t unit);

}  // namespace rooftile::traffic
