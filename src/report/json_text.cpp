// SPDX-License-Identifier: Apache-2.0
#include "report/json_text.h"

#include <nlohmann/json.hpp>

namespace rooftile::report {

std::string json_text(const nlohmann::ordered_json& json) {
  return json_text(json, 2);
}

std::string json_text(const nlohmann::ordered_json& json, int indent) {
  using nlohmann::ordered_json;
  return json.dump(indent, ' ', true, ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace rooftile::report
