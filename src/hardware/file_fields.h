// SPDX-License-Identifier: Apache-2.0
//
// Fields that the files of the catalogue have in common: positive quantities, counts, names, rates
// per clock, and the sources that every number needs.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/json.h"
#include "core/result.h"
#include "hardware/rate_key.h"

namespace rooftile::hardware {

/// A quantity > 0: zero is how other tables write "unknown", here the key is left out.
template <typename Q>
Result<Q> positive(const JsonView& view) {
  ROOFTILE_TRY(const Q value, view.quantity<Q>());
  if (value <= Q{}) return view.error("must be more than zero", "leave out what is unknown");
  return value;
}

template <typename Q>
Status read(const JsonView& object, std::string_view key, std::optional<Q>& out) {
  if (const auto member = object.find(key)) {
    ROOFTILE_TRY(out, positive<Q>(*member));
  }
  return {};
}

/// A count > 0, where there is one.
Status read_count(const JsonView& object, std::string_view key, std::optional<std::int64_t>& out);

/// "700 W", "5.238 Gbit/s": quantities that no formula of ours mixes with others.
Result<double> number_with_unit(const JsonView& view, std::string_view unit);

/// A text that is not empty and can be printed to a terminal.
Result<std::string> required_string(const JsonView& object, std::string_view key);

Result<Vendor> read_vendor(const JsonView& root);
Result<RateKey> rate_key(const std::string& text, const JsonView& at);

/// FLOP of one SM and clock, by rate.
Status read_flop_per_clock(const JsonView& sm, std::map<RateKey, double>& out);

/// "schema": 1; `format` is the page that describes the file.
Status expect_schema(const JsonView& root, std::string_view format);

/// JSON pointer -> where it is from.
using Sources = std::vector<std::pair<std::string, std::string>>;

/// Every value below `sections` is covered by a source of its own or of an enclosing object; ""
/// covers the file. A pointer to nothing is an error.
Result<Sources> read_sources(const JsonView& root, std::span<const std::string_view> sections);

}  // namespace rooftile::hardware
