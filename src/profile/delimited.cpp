// SPDX-License-Identifier: Apache-2.0
#include "profile/delimited.h"

#include <algorithm>

#include "core/text.h"

namespace rooftile::profile {

bool all_digits(std::string_view text) {
  return !text.empty() &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

std::optional<std::array<std::int64_t, 3>> parse_dim3(
    const std::array<std::string_view, 3>& fields) {
  std::array<std::int64_t, 3> dims{};
  for (std::size_t i = 0; i < fields.size(); ++i) {
    const auto value = parse_int(fields[i]);
    if (!value || *value < 0) return std::nullopt;
    dims[i] = *value;
  }
  return dims;
}

std::optional<std::array<std::int64_t, 3>> parse_dim3(std::string_view text) {
  text = trim(text);
  if (text.starts_with('(') && text.ends_with(')')) text = text.substr(1, text.size() - 2);
  std::array<std::int64_t, 3> dims{1, 1, 1};
  std::size_t i = 0;
  for (const std::string_view part : split(text, ',')) {
    const auto value = parse_int(trim(part));
    if (!value || *value < 0 || i == dims.size()) return std::nullopt;
    dims[i++] = *value;
  }
  if (i == 0) return std::nullopt;
  return dims;
}

}  // namespace rooftile::profile
