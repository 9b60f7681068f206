// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "hardware/ceilings.h"

namespace rooftile::hardware {

namespace {

using nlohmann::ordered_json;

/// Base units with all digits, so that reading gives back the same double.
template <typename Q>
ordered_json member(const Measured<Q>& measured, std::string_view unit) {
  const auto text = [unit](Q value) { return fmt::format("{} {}", value.base(), unit); };
  ordered_json out{{"value", text(measured.value)}};
  if (measured.low) out["low"] = text(*measured.low);
  if (measured.high) out["high"] = text(*measured.high);
  if (measured.samples) out["samples"] = *measured.samples;
  return out;
}

}  // namespace

std::string to_json(const Ceilings& ceilings) {
  ordered_json root{{"schema", 1}, {"kind", "machine"}, {"device", ceilings.device}};
  if (ceilings.gpu) root["gpu"] = *ceilings.gpu;
  root["tool"] = ceilings.tool;
  root["date"] = ceilings.date;
  for (const auto& [name, value] : ceilings.environment) root["environment"][name] = value;
  for (const auto& [level, value] : ceilings.bandwidth) {
    root["bandwidth"][std::string(name_of(level))] = member(value, "B/s");
  }
  if (ceilings.last_level) root["bandwidth"]["last_level"] = member(*ceilings.last_level, "B/s");
  if (ceilings.shared) root["bandwidth"]["shared"] = member(*ceilings.shared, "B/s");
  for (const auto& [key, value] : ceilings.rate)
    root["rate"][name_of(key)] = member(value, "FLOP/s");
  if (ceilings.launch) root["launch"] = member(*ceilings.launch, "s");
  if (!ceilings.notes.empty()) root["notes"] = ceilings.notes;
  constexpr int kIndent = 2;
  return root.dump(kIndent, ' ', true, ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace rooftile::hardware
