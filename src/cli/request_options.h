// SPDX-License-Identifier: Apache-2.0
//
// The options that say what step is meant.
#pragma once

#include "cli/command.h"
#include "rooftile/request.h"

namespace rooftile::cli {

/// The model and its sizes, for every command that works on the kernels of a step.
void add_step_options(CLI::App& command, Request& request);
/// The same with all that a prediction can be asked for; the model is required.
void add_request_options(CLI::App& command, Request& request);

}  // namespace rooftile::cli
