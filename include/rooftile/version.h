// SPDX-License-Identifier: Apache-2.0
//
// The version of the library that is linked, as "major.minor.patch", and the commit of its sources.
#pragma once

#include <optional>
#include <string_view>

namespace rooftile {

std::string_view version();

/// 40 digits, followed by "-dirty" where sources differed from it; nothing where the library was
/// not built from a git checkout.
std::optional<std::string_view> commit();

}  // namespace rooftile
