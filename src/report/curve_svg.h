// SPDX-License-Identifier: Apache-2.0
//
// Curves on logarithmic axes, with ceilings as named lines.
#pragma once

#include "report/document.h"
#include "report/svg.h"

namespace rooftile::report {

Drawing draw_curves(const CurveChart& chart);

}  // namespace rooftile::report
