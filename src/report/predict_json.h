// SPDX-License-Identifier: Apache-2.0
//
// The tree of a predicted step (docs/format/report.md), and the operators that other reports have
// too: as JSON objects and as columns of tables.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "report/document.h"
#include "rooftile/report.h"

namespace rooftile::report {

enum class Operators : std::uint8_t { Listed, LeftOut };

nlohmann::ordered_json report_json(const Report& report, Operators operators);
nlohmann::ordered_json operator_json(const OperatorReport& op);

/// Of rows that operator_json() made; `step` adds the share of the step's time.
enum class OperatorColumns : std::uint8_t { OfStep, Alone };
std::vector<Column> operator_columns(OperatorColumns which);

/// The parts of the step that are not operators and take time: hidden communication (negative),
/// host, idle.
std::vector<const PartReport*> waiting_parts(const Report& report);

/// "gpt2-large, train, batch 4 x 1024 tokens, fp32"
std::string workload(const Report& report);

/// "fits: 20.1 GB of 80.0 GB", "does not fit: ..."; empty where the capacity is unknown.
std::string fits_text(const MemoryReport& memory);

}  // namespace rooftile::report
