// SPDX-License-Identifier: Apache-2.0
//
// `rooftile scale` as a tree.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "rooftile/scale.h"

namespace rooftile::report {

using rooftile::BalanceRow;
using rooftile::ScaledLayer;
using rooftile::ScaleReport;
using rooftile::ScaleStep;
using rooftile::ScaleVariant;

/// "dram_bw x2, sms x1.5"; "as it is"
std::string variant_name(const ScaleVariant& variant);

nlohmann::ordered_json scale_json(const ScaleReport& report);

}  // namespace rooftile::report
