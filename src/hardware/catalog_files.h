// SPDX-License-Identifier: Apache-2.0
//
// What the files of the catalogue have in common, beside their form.
#pragma once

#include <cstddef>
#include <string_view>

namespace rooftile::hardware {

inline constexpr std::string_view kExtension = ".json";
inline constexpr std::size_t kMostFileBytes = 1 << 20;  ///< no file of a machine is near

}  // namespace rooftile::hardware
