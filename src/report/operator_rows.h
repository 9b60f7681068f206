// SPDX-License-Identifier: Apache-2.0
//
// One operator as a JSON object or a CSV line: the same rows in every report that lists operators;
// and the rows that a list of operators ends with so that it adds up to the step.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "rooftile/report.h"

namespace rooftile::report {

nlohmann::ordered_json operator_json(const OperatorReport& op);

inline constexpr std::string_view kOperatorCsvHeader =
    "name,op,phase,count,shape,dtype,latency_ms,low_ms,high_ms,bound_ms,limiter,flops,l1_bytes,"
    "l2_bytes,dram_bytes,tile,waves,wave_factor,provenance,extrapolated,algorithm\n";
std::string operator_csv(const OperatorReport& op);

/// The parts of the step that are no operators and take time: hidden communication (negative),
/// host, idle.
inline std::vector<const PartReport*> waiting_parts(const Report& report) {
  std::vector<const PartReport*> parts;
  for (const PartReport& part : report.parts) {
    const bool listed = part.name == "kernels" || part.name == "communication";
    if (!listed && part.latency_ms != 0) parts.push_back(&part);
  }
  return parts;
}

}  // namespace rooftile::report
