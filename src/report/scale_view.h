// SPDX-License-Identifier: Apache-2.0
//
// `rooftile scale`: variants of a GPU, their speed-up, and where the time goes then.
#pragma once

#include <string>

#include "report/views.h"
#include "rooftile/scale.h"

namespace rooftile::report {

using rooftile::BalanceRow;
using rooftile::ScaledLayer;
using rooftile::ScaleReport;
using rooftile::ScaleStep;
using rooftile::ScaleVariant;

std::string scale_to_text(const ScaleReport& report, const TextOptions& options);
std::string scale_to_json(const ScaleReport& report);
std::string scale_to_csv(const ScaleReport& report);

}  // namespace rooftile::report
