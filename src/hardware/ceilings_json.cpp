// SPDX-License-Identifier: Apache-2.0
//
// The writer of machine files. The layout is fixed and flat, so the lines are written directly.
#include <fmt/format.h>

#include "core/utf8.h"
#include "hardware/ceilings.h"

namespace rooftile::hardware {

namespace {

/// Base units with all digits, so that reading gives back the same double.
template <typename Q>
std::string value_of(const Measured<Q>& measured, std::string_view unit) {
  std::string out = fmt::format("{{\"value\": \"{} {}\"", measured.value.base(), unit);
  if (measured.low) out += fmt::format(", \"low\": \"{} {}\"", measured.low->base(), unit);
  if (measured.high) out += fmt::format(", \"high\": \"{} {}\"", measured.high->base(), unit);
  if (measured.samples) out += fmt::format(", \"samples\": {}", *measured.samples);
  return out + "}";
}

std::string block(char open, const std::vector<std::string>& lines, char close) {
  return fmt::format("{}\n    {}\n  {}", open, fmt::join(lines, ",\n    "), close);
}

std::vector<std::string> bandwidth_lines(const Ceilings& ceilings) {
  std::vector<std::string> lines;
  for (const auto& [level, value] : ceilings.bandwidth) {
    lines.push_back(fmt::format("\"{}\": {}", name_of(level), value_of(value, "B/s")));
  }
  if (ceilings.last_level)
    lines.push_back(fmt::format("\"last_level\": {}", value_of(*ceilings.last_level, "B/s")));
  if (ceilings.shared)
    lines.push_back(fmt::format("\"shared\": {}", value_of(*ceilings.shared, "B/s")));
  return lines;
}

template <typename Q>
std::vector<std::string> named_lines(const std::map<std::string, Measured<Q>>& values,
                                     std::string_view unit) {
  std::vector<std::string> lines;
  for (const auto& [name, value] : values) {
    lines.push_back(fmt::format("{}: {}", json_string(name), value_of(value, unit)));
  }
  return lines;
}

}  // namespace

std::string to_json(const Ceilings& ceilings) {
  std::vector<std::string> members{"\"schema\": 1", "\"kind\": \"machine\"",
                                   "\"device\": " + json_string(ceilings.device)};
  if (ceilings.gpu) members.push_back("\"gpu\": " + json_string(*ceilings.gpu));
  members.push_back("\"tool\": " + json_string(ceilings.tool));
  members.push_back("\"date\": " + json_string(ceilings.date));
  const auto add_block = [&members](std::string_view name, char open,
                                    const std::vector<std::string>& lines, char close) {
    if (!lines.empty())
      members.push_back(fmt::format("\"{}\": {}", name, block(open, lines, close)));
  };
  std::vector<std::string> environment;
  for (const auto& [name, value] : ceilings.environment) {
    environment.push_back(fmt::format("{}: {}", json_string(name), json_string(value)));
  }
  add_block("environment", '{', environment, '}');
  add_block("bandwidth", '{', bandwidth_lines(ceilings), '}');
  std::vector<std::string> rates;
  for (const auto& [key, value] : ceilings.rate) {
    rates.push_back(fmt::format("\"{}\": {}", name_of(key), value_of(value, "FLOP/s")));
  }
  add_block("rate", '{', rates, '}');
  if (ceilings.launch) members.push_back("\"launch\": " + value_of(*ceilings.launch, "s"));
  add_block("latency", '{', named_lines(ceilings.latency, "s"), '}');
  add_block("link", '{', named_lines(ceilings.link, "B/s"), '}');
  add_block("product", '{', named_lines(ceilings.product, "FLOP/s"), '}');
  if (ceilings.calibration) members.push_back("\"calibration\": " + to_json(*ceilings.calibration));
  std::vector<std::string> notes;
  for (const std::string& note : ceilings.notes) notes.push_back(json_string(note));
  add_block("notes", '[', notes, ']');
  return fmt::format("{{\n  {}\n}}\n", fmt::join(members, ",\n  "));
}

}  // namespace rooftile::hardware
