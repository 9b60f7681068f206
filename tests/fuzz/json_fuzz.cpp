// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <cstdint>
#include <string_view>

#include "core/json.h"
#include "core/units.h"

namespace {

// Asks every node for everything; the accessors must refuse what does not fit, never crash.
void walk(const rooftile::JsonView& node) {
  static constexpr std::array<std::string_view, 2> kKeys{"name", "schema"};
  (void)node.where();
  (void)node.string();
  (void)node.boolean();
  (void)node.number();
  (void)node.integer(-1000, 1000);
  (void)node.quantity<rooftile::Bytes>();
  (void)node.expect_keys(kKeys);
  (void)node.at("schema");
  if (const auto members = node.members()) {
    for (const auto& [key, child] : *members) walk(child);
  }
  if (const auto elements = node.elements()) {
    for (const auto& child : *elements) walk(child);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto document = rooftile::JsonDocument::parse(text, "fuzz.json")) {
    walk(document->root());
  }
  return 0;
}
