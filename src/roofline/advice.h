// SPDX-License-Identifier: Apache-2.0
//
// One sentence per kernel: what holds it, and what would help, with the gain that its roof allows.
// From the data of the chart only: no kernel is run or looked into.
#pragma once

#include "roofline/chart.h"

namespace rooftile::roofline {

/// Fills Point::advice and Point::gain; the points must be placed.
void advise(Chart& chart);

}  // namespace rooftile::roofline
