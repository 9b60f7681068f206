// SPDX-License-Identifier: Apache-2.0
//
// Kernels under roofs as pictures for papers, with the longest kernels listed below.
#pragma once

#include "report/svg.h"
#include "roofline/chart.h"

namespace rooftile::report {

/// Intensity against rate, a marker per kernel and memory level.
Drawing draw_roofline(const roofline::Chart& chart);
/// Time-based, at DRAM [arXiv 2009.04598].
Drawing draw_time_roofline(const roofline::Chart& chart);

}  // namespace rooftile::report
