// SPDX-License-Identifier: Apache-2.0
//
// The version of the library that is linked, as "major.minor.patch".
#pragma once

#include <string_view>

namespace rooftile {

std::string_view version();

}  // namespace rooftile
