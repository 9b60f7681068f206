// SPDX-License-Identifier: Apache-2.0
//
// Counted nouns in messages: number_of(1, "launch") is "1 launch", number_of(2, "launch") is
// "2 launches". For nouns with a regular plural.
#pragma once

#include <fmt/format.h>

#include <concepts>
#include <string>
#include <string_view>

namespace rooftile {

template <std::integral Count>
std::string number_of(Count count, std::string_view noun) {
  const bool sibilant = noun.ends_with("s") || noun.ends_with("x") || noun.ends_with("ch");
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : sibilant ? "es" : "s");
}

}  // namespace rooftile
