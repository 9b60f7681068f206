// SPDX-License-Identifier: Apache-2.0
//
// What the files of the catalogue have in common, apart from their form.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace rooftile::hardware {

inline constexpr std::string_view kExtension = ".json";
inline constexpr std::size_t kMostFileBytes = 1 << 20;  ///< no file of a machine is near

inline constexpr std::string_view kMemoryTypeFolder = "memory_types/";
/// The relative name of the file of a DRAM type.
inline std::string memory_type_file(std::string_view type) {
  return std::string(kMemoryTypeFolder).append(type).append(kExtension);
}

}  // namespace rooftile::hardware
