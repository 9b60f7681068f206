// SPDX-License-Identifier: Apache-2.0
//
// `rooftile evaluate kernels` and `rooftile fit --inspect` as bytes.
#pragma once

#include <string>

#include "fit/evaluate.h"
#include "fit/inspect.h"

namespace rooftile::report {

/// Errors in percent per class, GPU and campaign.
std::string evaluation_to_text(const fit::Evaluation& evaluation);
/// The contract's keys; errors are fractions of the measured time.
std::string evaluation_to_json(const fit::Evaluation& evaluation, const fit::Dataset& dataset);
/// One line per measured kernel.
std::string evaluation_to_csv(const fit::Evaluation& evaluation, const fit::Dataset& dataset);
/// A page for docs/: the tables that the text shows.
std::string evaluation_to_markdown(const fit::Evaluation& evaluation);

std::string inspection_to_text(const fit::Inspection& inspection);

}  // namespace rooftile::report
