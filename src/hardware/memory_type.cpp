// SPDX-License-Identifier: Apache-2.0
#include "hardware/memory_type.h"

#include <fmt/format.h>

#include <array>

#include "core/json.h"
#include "core/text.h"
#include "hardware/catalog_files.h"
#include "hardware/file_fields.h"

namespace rooftile::hardware {

namespace {

struct Range {
  double least = 0, most = 0;
};

/// {"least": "1 GB", "most": "2 GB"}
Result<Range> read_range(const JsonView& object, std::string_view unit) {
  Range range;
  ROOFTILE_TRY(const JsonView least, object.at("least"));
  ROOFTILE_TRY(range.least, number_with_unit(least, unit));
  ROOFTILE_TRY(const JsonView most, object.at("most"));
  ROOFTILE_TRY(range.most, number_with_unit(most, unit));
  if (range.least > range.most) return object.error("the minimum is greater than the maximum");
  return range;
}

Result<std::string> read_kind(const JsonView& root) {
  static constexpr std::array<std::string_view, 2> kKinds{"hbm", "gddr"};
  ROOFTILE_TRY(const JsonView member, root.at("kind"));
  ROOFTILE_TRY(std::string text, member.string());
  if (text == kKinds[0] || text == kKinds[1]) return text;
  return member.error(fmt::format("unknown kind \"{}\"", printable(text)),
                      did_you_mean(text, kKinds, "kinds are"));
}

}  // namespace

Result<MemoryType> parse_memory_type(std::string_view text, std::string file) {
  static constexpr std::array<std::string_view, 6> kKeys{"schema",    "name",   "kind",
                                                         "data_rate", "device", "sources"};
  static constexpr std::array<std::string_view, 2> kRateKeys{"least", "most"};
  static constexpr std::array<std::string_view, 3> kDeviceKeys{"bits", "least", "most"};
  static constexpr std::array<std::string_view, 2> kSourced{"data_rate", "device"};
  constexpr JsonLimits kLimits{.max_depth = 8, .max_bytes = 1 << 20};
  ROOFTILE_TRY(const JsonDocument document, JsonDocument::parse(text, file, kLimits));
  const JsonView root = document.root();
  ROOFTILE_CHECK(root.expect_keys(kKeys));
  ROOFTILE_CHECK(expect_schema(root, "docs/format/architecture.md"));
  MemoryType type;
  ROOFTILE_TRY(type.name, required_string(root, "name"));
  ROOFTILE_TRY(type.kind, read_kind(root));
  ROOFTILE_TRY(const JsonView rate, root.at("data_rate"));
  ROOFTILE_CHECK(rate.expect_keys(kRateKeys));
  ROOFTILE_TRY(const Range pin, read_range(rate, "Gbit/s"));
  type.least_gbit = pin.least, type.most_gbit = pin.most;
  ROOFTILE_TRY(const JsonView device, root.at("device"));
  ROOFTILE_CHECK(device.expect_keys(kDeviceKeys));
  ROOFTILE_TRY(const JsonView bits, device.at("bits"));
  ROOFTILE_TRY(type.device_bits, bits.integer(1, 1 << 16));
  ROOFTILE_TRY(const Range capacity, read_range(device, "GB"));
  type.least_gb = capacity.least, type.most_gb = capacity.most;
  ROOFTILE_TRY([[maybe_unused]] const Sources sources, read_sources(root, kSourced));
  type.file = std::move(file);
  return type;
}

Result<std::optional<MemoryType>> find_memory_type(const Catalog& catalog, std::string_view name) {
  if (!catalog.contains(memory_type_file(name))) return std::nullopt;
  ROOFTILE_TRY(const Catalog::File file, catalog.read(memory_type_file(name)));
  ROOFTILE_TRY(MemoryType type, parse_memory_type(file.content, file.name));
  if (type.name != name)
    return bad_input(
        file.name + ":/name",
        fmt::format("\"{}\" does not match the file name {}", printable(type.name), name),
        "the file is named after the type");
  return std::optional(std::move(type));
}

std::vector<std::string> memory_type_names(const Catalog& catalog) {
  std::vector<std::string> names;
  for (const std::string& file : catalog.list(kMemoryTypeFolder)) {
    if (!file.ends_with(kExtension)) continue;
    names.push_back(file.substr(kMemoryTypeFolder.size(),
                                file.size() - kMemoryTypeFolder.size() - kExtension.size()));
  }
  return names;
}

}  // namespace rooftile::hardware
