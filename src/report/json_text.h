// SPDX-License-Identifier: Apache-2.0
//
// How every report writes JSON: ASCII, so that no control character of a name reaches a terminal,
// and valid whatever bytes a name holds (what is not UTF-8 becomes U+FFFD).
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace rooftile::report {

/// Indented by two columns per level, or by `indent` (-1: all on one line); ends in a line end.
std::string json_text(const nlohmann::ordered_json& json);
std::string json_text(const nlohmann::ordered_json& json, int indent);

}  // namespace rooftile::report
