// SPDX-License-Identifier: Apache-2.0
//
// Words and marks that the views of a chart share, so that text and pictures say the same about a
// kernel: what its operations are called, which numbers are lower bounds, what is not drawn.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "roofline/chart.h"

namespace rooftile::report {

/// "FLOP"; "OP" where integer operations are counted too: every FLOP is an operation.
std::string_view operations_of(const profile::KernelRecord& record);
std::string_view operations_of(const roofline::Chart& chart);

/// "485.7 MFLOP", "137 GOP".
std::string operations_text(Flops count, std::string_view name, int digits);

/// FLOP/s in the unit of the chart: 1e9, or 2^30 for the authors' tables.
double chart_gflops(const roofline::Chart& chart, FlopsPerSecond rate);

/// Unit of chart_gflops(): "GFLOP/s", "GOP/s", "GiFLOP/s".
std::string rate_unit(const roofline::Chart& chart);

/// ">=" before what is computed from incomplete FLOP counters, nothing before the rest.
std::string_view at_least(bool flops_complete);
/// What ">=" means; empty when no kernel needs it.
std::string at_least_note(const roofline::Chart& chart);

/// "zero-AI: 3 kernels, 12 launches (10.0 % of the launches, 4.2 % of the time)"; says so where FLOPs are
/// unknown, of all kernels or of some.
std::string census_text(const roofline::Total& total);

/// Why points lie above a roof, one reason each: "5 kernels above the roof: effective rate, ...".
std::vector<std::string> above_roof_notes(const roofline::Chart& chart);

/// Which of the chart's runs a point is of: an index of Chart::phases.
std::size_t run_of(const roofline::Chart& chart, const roofline::Point& point);

/// "22.6%"
std::string percent_text(double fraction);

}  // namespace rooftile::report
