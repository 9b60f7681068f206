// SPDX-License-Identifier: Apache-2.0
//
// The options that say what step to predict, shared by predict and compare.
#pragma once

#include "cli/command.h"
#include "rooftile/request.h"

namespace rooftile::cli {

void add_request_options(CLI::App& command, Request& request);

}  // namespace rooftile::cli
