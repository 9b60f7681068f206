// SPDX-License-Identifier: Apache-2.0
//
// What evaluate and fit have in a file of its own: whole steps, traced nodes, costs of stacks.
#pragma once

#include <string>

#include "cli/commands.h"
#include "rooftile/fit.h"
#include "study/session.h"

namespace rooftile::cli {

/// Costs of the software stacks into `folder`/stacks.json.
Status run_fit_stacks(const FitRequest& request, const std::string& folder,
                      const study::Session& session);

void add_evaluate_nodes(CLI::App& evaluate, Context& context);
void add_evaluate_calibrate(CLI::App& evaluate, Context& context);
void add_evaluate_steps(CLI::App& evaluate, Context& context);

}  // namespace rooftile::cli
