// SPDX-License-Identifier: Apache-2.0
//
// What is said about a command line that cannot be understood: the mistake in our words instead of
// CLI11's, and the option, command or spelling that was probably meant.
#pragma once

#include <CLI/CLI.hpp>
#include <span>
#include <string>
#include <vector>

#include "core/result.h"

namespace rooftile::cli {

/// The command line that `app` refused with `error`, as an error of ours.
Error explain_usage(const CLI::App& app, const CLI::ParseError& error);

/// The command that `path` names ("kernel", "gemm"), or the error about a word that names none.
Result<const CLI::App*> find_command(const CLI::App& app, std::span<const std::string> path);

/// Arguments as CLI11 should see them: "--gpus a, b" is one value, as it is with quotes. Only the
/// values of `list_options` are joined.
std::vector<std::string> join_lists(std::span<const char* const> arguments,
                                    std::span<const std::string> list_options);

/// Nothing that can be given may be empty: where a script's variable was not set, leaving the
/// option out would do something else than what was meant.
Status check_nothing_empty(std::span<const char* const> arguments);

}  // namespace rooftile::cli
