// SPDX-License-Identifier: Apache-2.0
//
// `rooftile roofline` as text, JSON, CSV and SVG (page.h: HTML). All views are pure functions of
// the Chart.
//
//   GFLOP/s
//     1e5 |                     ------------------------------  fp16_tensor 106 TFLOP/s
//         |                  ///              D
//     1e4 |             2 ///------------------------------     fp32 15.2 TFLOP/s
#pragma once

#include <string>

#include "report/views.h"
#include "roofline/chart.h"

namespace rooftile::report {

/// Chart on logarithmic axes, kernels by time, census, phases, comparison, formulas, warnings.
std::string roofline_to_text(const roofline::Chart& chart, const TextOptions& options);
/// The time-based view: time the FLOPs, the bytes and the launches need, beside the measured one.
std::string roofline_times_to_text(const roofline::Chart& chart, const TextOptions& options);
/// docs/format/roofline.md
std::string roofline_to_json(const roofline::Chart& chart);
/// One row per roof and per kernel: everything that a plot needs.
std::string roofline_to_csv(const roofline::Chart& chart);

/// For papers: hierarchical chart with the longest kernels listed below.
std::string roofline_to_svg(const roofline::Chart& chart);
/// The time-based chart at DRAM [arXiv 2009.04598].
std::string roofline_times_to_svg(const roofline::Chart& chart);

/// The terminal chart alone; at most `width` columns.
std::string roofline_plot(const roofline::Chart& chart, int width);

/// FLOP/s in the unit of the chart: 1e9, or 2^30 for the authors' tables.
double chart_gflops(const roofline::Chart& chart, FlopsPerSecond rate);

}  // namespace rooftile::report
