// SPDX-License-Identifier: Apache-2.0
#include "hardware/sourced.h"

namespace rooftile::hardware {

std::string_view name_of(SourceKind kind) {
  switch (kind) {
    case SourceKind::Datasheet: return "datasheet";
    case SourceKind::Published: return "published";
    case SourceKind::Measured: return "measured";
    case SourceKind::Sibling: return "sibling";
    case SourceKind::Fitted: return "fitted";
    case SourceKind::Assumed: return "assumed";
  }
  return "?";
}

std::string name_of(const Source& source) {
  std::string text(name_of(source.kind));
  return source.of.empty() ? text : text + " " + source.of;
}

}  // namespace rooftile::hardware
