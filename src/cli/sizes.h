// SPDX-License-Identifier: Apache-2.0
//
// Sizes as people write them on a command line: tokens as "1024" or "1k", shapes as
// "4096x4096x4096", phases as "train" or "training".
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"

namespace rooftile::cli {

/// Tokens: a whole number, or one with k (1024) or M (1024 x 1024), as in "an 8k context".
std::optional<std::int64_t> parse_tokens(std::string_view text);

/// An option for a number of tokens.
CLI::Option* add_tokens_option(CLI::App& command, const std::string& name,
                               std::optional<std::int64_t>& tokens, const std::string& help);

/// An option for a phase, also by its long name (training, inference).
CLI::Option* add_phase_option(CLI::App& command, std::string& phase, const std::string& help);

/// The numbers of "4096x4096x1024"; `form` ("MxNxK") says how many and is shown in the error.
Result<std::vector<std::int64_t>> parse_shape(std::string_view text, std::string_view form);

}  // namespace rooftile::cli
