// SPDX-License-Identifier: Apache-2.0
//
// Where the measured data sets live: ROOFTILE_DATA, or the folder next to the source tree. Tests
// that need them skip with a message when they are absent.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>

#include "source_folder.h"

namespace rooftile::testing {

inline std::filesystem::path shared_data() {
  if (const char* folder = std::getenv("ROOFTILE_DATA")) return folder;
  return source_folder() / ".." / "shared" / "data";
}

inline bool has_shared_data(const std::string& relative) {
  std::error_code ignored;
  return std::filesystem::exists(shared_data() / relative, ignored);
}

}  // namespace rooftile::testing
