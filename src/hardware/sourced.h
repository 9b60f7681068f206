// SPDX-License-Identifier: Apache-2.0
//
// A number and where it is from. What is not the part's own data sheet or measurement says so, and
// of what else it is: another board with the same SM or chip, a fit, an assumption.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace rooftile::hardware {

enum class SourceKind : std::uint8_t {
  Datasheet,
  Published,  ///< somebody measured this part
  Measured,   ///< on this machine: --machine
  Sibling,    ///< somebody measured `of`, which has the same SM or the same chip and L2
  Fitted,     ///< by the predictor `of`
  Assumed,
};

/// "datasheet", "published", "measured", "sibling", "fitted", "assumed".
std::string_view name_of(SourceKind kind);

struct Source {
  SourceKind kind = SourceKind::Datasheet;
  std::string of;  ///< the sibling's id, the predictor's name

  bool operator==(const Source&) const = default;
};

/// "published", "sibling h100-pcie".
std::string name_of(const Source& source);

template <typename Q>
struct Sourced {
  Q value{};
  Source source;

  [[nodiscard]] bool is_measured() const { return source.kind == SourceKind::Measured; }
};

}  // namespace rooftile::hardware
