// SPDX-License-Identifier: Apache-2.0
//
// Kernels under roofs as a tree: docs/format/roofline.md.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "roofline/chart.h"

namespace rooftile::report {

nlohmann::ordered_json roofline_json(const roofline::Chart& chart);

}  // namespace rooftile::report
