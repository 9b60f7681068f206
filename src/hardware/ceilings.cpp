// SPDX-License-Identifier: Apache-2.0
#include "hardware/ceilings.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "core/json.h"
#include "core/provenance.h"
#include "core/text.h"
#include "hardware/roof_file.h"

namespace rooftile::hardware {

namespace {

template <typename Q>
Result<Q> positive_measured(const JsonView& view) {
  ROOFTILE_TRY(const Q value, view.quantity<Q>());
  if (value <= Q{}) return view.error("must be more than zero", "leave out what was not measured");
  return value;
}

/// {"value": "1555 GB/s", "low": ..., "high": ..., "samples": 30}, or just "1555 GB/s".
template <typename Q>
Result<Measured<Q>> measured(const JsonView& view) {
  static constexpr std::array<std::string_view, 4> kKeys{"value", "low", "high", "samples"};
  constexpr std::int64_t kMostSamples = 1'000'000'000;
  Measured<Q> out;
  if (!view.is_object()) {
    ROOFTILE_TRY(out.value, positive_measured<Q>(view));
    return out;
  }
  ROOFTILE_CHECK(view.expect_keys(kKeys));
  ROOFTILE_TRY(const JsonView value, view.at("value"));
  ROOFTILE_TRY(out.value, positive_measured<Q>(value));
  if (const auto low = view.find("low")) {
    ROOFTILE_TRY(out.low, positive_measured<Q>(*low));
  }
  if (const auto high = view.find("high")) {
    ROOFTILE_TRY(out.high, positive_measured<Q>(*high));
  }
  if (const auto samples = view.find("samples")) {
    ROOFTILE_TRY(out.samples, samples->integer(1, kMostSamples));
  }
  if ((out.low && *out.low > out.value) || (out.high && *out.high < out.value))
    return view.error("the value lies outside low and high");
  return out;
}

Result<std::string> text_at(const JsonView& object, std::string_view key) {
  ROOFTILE_TRY(const JsonView member, object.at(key));
  ROOFTILE_TRY(std::string text, member.string());
  if (trim(text).empty()) return member.error("is empty");
  return text;
}

Status read_bandwidth(const JsonView& root, Ceilings& ceilings) {
  static constexpr std::array<std::string_view, 5> kKeys{"l1", "l2", "last_level", "dram",
                                                         "shared"};
  const auto object = root.find("bandwidth");
  if (!object) return {};
  ROOFTILE_CHECK(object->expect_keys(kKeys));
  for (const MemoryLevel level : {MemoryLevel::L1, MemoryLevel::L2, MemoryLevel::Dram}) {
    if (const auto member = object->find(name_of(level))) {
      ROOFTILE_TRY(ceilings.bandwidth[level], measured<BytesPerSecond>(*member));
    }
  }
  if (const auto member = object->find("last_level")) {
    ROOFTILE_TRY(ceilings.last_level, measured<BytesPerSecond>(*member));
  }
  if (const auto member = object->find("shared")) {
    ROOFTILE_TRY(ceilings.shared, measured<BytesPerSecond>(*member));
  }
  return {};
}

Status read_rate(const JsonView& root, Ceilings& ceilings) {
  const auto object = root.find("rate");
  if (!object) return {};
  ROOFTILE_TRY(const auto members, object->members());
  for (const auto& [name, member] : members) {
    const auto key = parse_rate_key(name);
    if (!key) return member.error(key.error().message, key.error().hint);
    ROOFTILE_TRY(ceilings.rate[*key], measured<FlopsPerSecond>(member));
  }
  return {};
}

template <typename Q>
Status read_named(const JsonView& root, std::string_view key,
                  std::map<std::string, Measured<Q>>& out) {
  const auto object = root.find(key);
  if (!object) return {};
  ROOFTILE_TRY(const auto members, object->members());
  for (const auto& [name, member] : members) {
    ROOFTILE_TRY(out[std::string(name)], measured<Q>(member));
  }
  return {};
}

Status read_origin(const JsonView& root, Ceilings& ceilings) {
  ROOFTILE_TRY(ceilings.device, text_at(root, "device"));
  if (root.find("gpu")) {
    ROOFTILE_TRY(ceilings.gpu, text_at(root, "gpu"));
  }
  ROOFTILE_TRY(ceilings.tool, text_at(root, "tool"));
  ROOFTILE_TRY(ceilings.date, text_at(root, "date"));
  if (const auto environment = root.find("environment")) {
    ROOFTILE_TRY(const auto members, environment->members());
    for (const auto& [name, member] : members) {
      ROOFTILE_TRY(std::string value, member.string());
      ceilings.environment.emplace_back(name, std::move(value));
    }
  }
  if (const auto notes = root.find("notes")) {
    ROOFTILE_TRY(const auto elements, notes->elements());
    for (const JsonView& element : elements) {
      ROOFTILE_TRY(std::string note, element.string());
      ceilings.notes.push_back(std::move(note));
    }
  }
  return {};
}

}  // namespace

bool Ceilings::of_processor() const {
  return std::any_of(environment.begin(), environment.end(), [](const auto& entry) {
    return entry.first == "backend" && entry.second == "cpu";
  });
}

Result<Ceilings> parse_ceilings(std::string_view text, std::string file) {
  static constexpr std::array<std::string_view, 15> kKeys{
      "schema", "kind",   "device",  "gpu",  "tool",    "date",        "environment", "bandwidth",
      "rate",   "launch", "latency", "link", "product", "calibration", "notes"};
  constexpr JsonLimits kLimits{.max_depth = 8, .max_bytes = 1 << 20};
  ROOFTILE_TRY(const JsonDocument document, JsonDocument::parse(text, file, kLimits));
  const JsonView root = document.root();
  ROOFTILE_TRY(const JsonView schema, root.at("schema"));
  ROOFTILE_TRY(const std::int64_t version, schema.integer(0, 1 << 20));
  ROOFTILE_TRY(const std::string kind, text_at(root, "kind"));
  if (version != 1 || kind != "machine")
    return schema.unsupported(
        fmt::format("not a machine file of schema 1 (schema {}, kind \"{}\")", version,
                    printable(kind)),
        "docs/format/machine.md describes the format; `rooftile characterize -o FILE` writes it");
  ROOFTILE_CHECK(root.expect_keys(kKeys));
  Ceilings ceilings;
  ROOFTILE_CHECK(read_origin(root, ceilings));
  ROOFTILE_CHECK(read_bandwidth(root, ceilings));
  ROOFTILE_CHECK(read_rate(root, ceilings));
  ROOFTILE_CHECK(read_named(root, "latency", ceilings.latency));
  ROOFTILE_CHECK(read_named(root, "link", ceilings.link));
  ROOFTILE_CHECK(read_named(root, "product", ceilings.product));
  if (const auto launch = root.find("launch")) {
    ROOFTILE_TRY(ceilings.launch, measured<Seconds>(*launch));
  }
  if (const auto calibration = root.find("calibration")) {
    ROOFTILE_TRY(ceilings.calibration, read_calibration(*calibration));
  }
  if (ceilings.bandwidth.empty() && ceilings.rate.empty() && !ceilings.calibration)
    return root.error("contains no ceilings",
                      "state at least one \"bandwidth\" or \"rate\", or a \"calibration\"");
  ceilings.file = std::move(file);
  return ceilings;
}

namespace {

/// Reads whatever format the text is.
Result<Ceilings> recognise(std::string_view text, const std::string& path) {
  constexpr std::size_t kHead = std::size_t{256} << 10;
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  std::string formats =
      "\n  machine: what rooftile characterize and rooftile calibrate write (JSON)";
  for (const RoofReader& reader : roof_readers()) {
    formats += fmt::format("\n  {}: {}", reader.name, reader.description);
    if (!reader.recognises(text.substr(0, kHead))) continue;
    ROOFTILE_TRY(const RoofFile file, reader.read(text, path));
    return ceilings_of(file, path);
  }
  if (trim(text).starts_with('{')) return parse_ceilings(text, path);
  return bad_input(path, "this is not a known format of measured ceilings",
                   "formats, recognised by their content:" + formats);
}

}  // namespace

Result<Ceilings> load_ceilings(const std::string& path) {
  constexpr std::size_t kMostBytes = std::size_t{64} << 20;
  ROOFTILE_TRY(const Catalog::File file, Catalog::read_path(path, kMostBytes));
  ROOFTILE_TRY(Ceilings ceilings, recognise(file.content, path));
  ceilings.input = make_input("machine", ceilings.device, file);
  return ceilings;
}

}  // namespace rooftile::hardware
