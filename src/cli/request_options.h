// SPDX-License-Identifier: Apache-2.0
//
// The options that say what step is meant.
#pragma once

#include "cli/command.h"
#include "rooftile/request.h"

namespace rooftile::cli {

/// The model and its sizes, for every command that works on the kernels of a step.
void add_step_options(CLI::App& command, Request& request);
/// A list of GPUs where one is asked about: another command is meant.
Status check_one_gpu(std::string_view command, const std::string& gpu);
/// For commands with a subcommand for one layer: a model, or an option that only a model's step
/// has, is a usage error together with the layer.
Status check_one_layer(const CLI::App& command, const Request& request);
/// The options of add_step_options with all that a prediction can be asked for; the model is
/// required.
void add_request_options(CLI::App& command, Request& request);

}  // namespace rooftile::cli
