// SPDX-License-Identifier: Apache-2.0
//
// Reads "id", "name" and "aliases" off a GPU file without building a document: one pass over the
// text that stops when all three are seen, so finding one name among fifty files takes
// microseconds. Only strings without escapes count as names; a text that is not a JSON object gives
// nothing, and parse_gpu() then says what is wrong with it.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace rooftile::hardware {

struct GpuHead {
  std::string id;
  std::string name;
  std::vector<std::string> aliases;
};

std::optional<GpuHead> scan_head(std::string_view text);

}  // namespace rooftile::hardware
