// SPDX-License-Identifier: Apache-2.0
//
// Horizontal bars: a row per label, a bar per series, whiskers, ticks and reference lines.
#pragma once

#include "report/document.h"
#include "report/svg.h"

namespace rooftile::report {

Drawing draw_bars(const Document& document, const BarChart& chart);

/// Of a limiter, "good" or "bad"; black for anything else.
std::string_view tone_color(std::string_view tone);

}  // namespace rooftile::report
