// SPDX-License-Identifier: Apache-2.0
//
// Fields of a profiler's tables (core/line_fields.h) that are not plain numbers.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "core/line_fields.h"

namespace rooftile::profile {

/// "(256, 1, 1)" or "256" -> three numbers.
std::optional<std::array<std::int64_t, 3>> parse_dim3(std::string_view text);
/// The same of three fields; nothing where one of them is not a size.
std::optional<std::array<std::int64_t, 3>> parse_dim3(
    const std::array<std::string_view, 3>& fields);

bool all_digits(std::string_view text);

}  // namespace rooftile::profile
