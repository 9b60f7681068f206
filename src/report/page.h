// SPDX-License-Identifier: Apache-2.0
//
// Self-contained interactive pages: the page of web/ with one result inside. No network, no server;
// the reader's browser filters, sorts and draws. Everything that comes from files (kernel names,
// paths, labels) is escaped, so that it can neither end the script nor become markup.
#pragma once

#include <string>
#include <string_view>

#include "report/machine_curves.h"
#include "roofline/chart.h"
#include "rooftile/report.h"

namespace rooftile::report {

enum class ChartView : std::uint8_t { Hierarchical, TimeBased };

/// docs/format/page.md; `json` is the data of the page.
std::string make_page(std::string_view title, std::string_view json);

std::string roofline_to_html(const roofline::Chart& chart, ChartView view);
/// `chart` holds the predicted kernels under the roofs of the GPU.
std::string predict_to_html(const Report& report, const roofline::Chart& chart);
std::string machine_to_html(const MachineCurves& machine);

}  // namespace rooftile::report
