// SPDX-License-Identifier: Apache-2.0
//
// One operator as a JSON object or a CSV line: the same rows in every report that lists operators.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "rooftile/report.h"

namespace rooftile::report {

nlohmann::ordered_json operator_json(const OperatorReport& op);

inline constexpr std::string_view kOperatorCsvHeader =
    "name,op,phase,count,shape,dtype,latency_ms,low_ms,high_ms,bound_ms,limiter,flops,l1_bytes,"
    "l2_bytes,dram_bytes,tile,waves,wave_factor,provenance,extrapolated,algorithm\n";
std::string operator_csv(const OperatorReport& op);

}  // namespace rooftile::report
