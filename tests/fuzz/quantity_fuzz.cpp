// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "core/text.h"
#include "core/units.h"

namespace {

template <typename Q>
void check(std::string_view text) {
  const auto value = rooftile::parse_quantity<Q>(text);
  if (value && !std::isfinite(value->base())) std::abort();  // "1e308 TB" must be refused
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  check<rooftile::Bytes>(text);
  check<rooftile::Seconds>(text);
  check<rooftile::BytesPerSecond>(text);
  check<rooftile::FlopsPerSecond>(text);
  check<rooftile::Hertz>(text);
  (void)rooftile::parse_double(text);
  (void)rooftile::parse_int(text);
  (void)rooftile::printable(text);
  (void)rooftile::nearest(text.substr(0, 64), rooftile::split(text, ','));
  return 0;
}
