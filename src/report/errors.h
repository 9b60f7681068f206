// SPDX-License-Identifier: Apache-2.0
//
// The one block of error figures, in every document of `rooftile evaluate`: the tree, the columns of
// its tables, and a picture.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <vector>

#include "report/document.h"
#include "rooftile/evaluate.h"

namespace rooftile::report {

/// One object per group; a baseline that no row of the group has is null.
nlohmann::ordered_json errors_json(std::span<const ErrorSummary> summary);

/// Of the array /summary.
Table errors_table(std::span<const ErrorSummary> summary);

/// Mean error per group, with the trivial baseline as a tick.
BarChart errors_chart(std::span<const ErrorSummary> summary);

/// The mean error of all rows, or of the groups that are not part of another.
std::vector<Verdict> errors_verdict(std::span<const ErrorSummary> summary);

/// By which weights the predictions were made.
std::string accuracy_heading(const std::string& predictor, bool left_out);

}  // namespace rooftile::report
