// SPDX-License-Identifier: Apache-2.0
//
// The subcommands of evaluate that have a file of their own.
#pragma once

#include <string>

#include "cli/commands.h"
#include "study/session.h"

namespace rooftile::cli {

/// Costs of the software stacks into `folder`/stacks.json.
Status run_fit_stacks(const study::FitStacksRequest& request, const std::string& folder,
                      const Context& context);

void add_evaluate_nodes(CLI::App& evaluate, Context& context);
void add_evaluate_steps(CLI::App& evaluate, Context& context);

}  // namespace rooftile::cli
