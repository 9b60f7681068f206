// SPDX-License-Identifier: Apache-2.0
//
// The 80 % interval of a prediction for people. Baselines and bounds state none: their low and high
// equal the time, in JSON and CSV too, and a reader is told so instead of an interval without
// width.
#pragma once

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "report/lines.h"

namespace rooftile::report {

inline bool states_interval(double low, double high) {
  return low < high;
}

/// Times in ms: "80 % interval 1.2 ms to 1.5 ms", "no interval".
inline std::string interval_text(double low, double high) {
  if (!states_interval(low, high)) return "no interval";
  return fmt::format("80 % interval {} to {}", format_ms(low), format_ms(high));
}

/// A number, or null.
inline nlohmann::ordered_json number_or_null(std::optional<double> value) {
  return value ? nlohmann::ordered_json(*value) : nlohmann::ordered_json();
}

}  // namespace rooftile::report
