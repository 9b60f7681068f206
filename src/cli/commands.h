// SPDX-License-Identifier: Apache-2.0
//
// The list of subcommands, in the order in which --help shows them. Adding one: a file with its
// add_ function, a declaration here, a line in kCommands (commands.cpp).
#pragma once

#include "cli/command.h"

namespace rooftile::cli {

void add_predict(CLI::App& app, Context& context);
void add_compare(CLI::App& app, Context& context);
void add_generate(CLI::App& app, Context& context);
void add_kernel(CLI::App& app, Context& context);
void add_roofline(CLI::App& app, Context& context);
void add_traffic(CLI::App& app, Context& context);
void add_scale(CLI::App& app, Context& context);
void add_gpus(CLI::App& app, Context& context);
void add_models(CLI::App& app, Context& context);
void add_characterize(CLI::App& app, Context& context);
void add_calibrate(CLI::App& app, Context& context);
void add_fit(CLI::App& app, Context& context);
void add_evaluate(CLI::App& app, Context& context);

}  // namespace rooftile::cli
