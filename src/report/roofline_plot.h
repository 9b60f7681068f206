// SPDX-License-Identifier: Apache-2.0
//
// Kernels under roofs in characters:
//
//   GFLOP/s
//     1e5 |                     ------------------------------  fp16_tensor 106 TFLOP/s
//         |                  ///              D
//     1e4 |             2 ///------------------------------     fp32 15.2 TFLOP/s
#pragma once

#include <string>

#include "roofline/chart.h"

namespace rooftile::report {

/// At most `width` columns.
std::string roofline_plot(const roofline::Chart& chart, int width);

}  // namespace rooftile::report
