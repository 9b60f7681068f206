// SPDX-License-Identifier: Apache-2.0
//
// The one block of error figures, as every JSON of `rooftile evaluate` has it.
#pragma once

#include <nlohmann/json.hpp>
#include <span>

#include "rooftile/evaluate.h"

namespace rooftile::report {

/// One object per group; a baseline that no row of the group has is null.
nlohmann::ordered_json errors_json(std::span<const ErrorSummary> summary);

}  // namespace rooftile::report
