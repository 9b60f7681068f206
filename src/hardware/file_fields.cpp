// SPDX-License-Identifier: Apache-2.0
#include "hardware/file_fields.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "core/text.h"

namespace rooftile::hardware {

namespace {

/// Names are printed to terminals.
Status check_printable(const JsonView& member, std::string_view text) {
  const bool control = std::any_of(text.begin(), text.end(), [](char c) {
    return static_cast<unsigned char>(c) < 0x20 || c == 0x7f;
  });
  if (!control) return {};
  return member.error(fmt::format("\"{}\" has control characters", printable(text)),
                      "write it on one line");
}

/// Collects the pointers of the values below `view`; `all` also gets those of objects.
Status collect(const JsonView& view, std::vector<std::string>& leaves, std::set<std::string>& all) {
  all.insert(view.pointer());
  if (!view.is_object()) {
    leaves.push_back(view.pointer());
    return {};
  }
  ROOFTILE_TRY(const auto members, view.members());
  for (const auto& [name, member] : members) ROOFTILE_CHECK(collect(member, leaves, all));
  return {};
}

}  // namespace

Status read_count(const JsonView& object, std::string_view key, std::optional<std::int64_t>& out) {
  constexpr std::int64_t kMost = 1 << 24;
  if (const auto member = object.find(key)) {
    ROOFTILE_TRY(out, member->integer(1, kMost));
  }
  return {};
}

Result<double> number_with_unit(const JsonView& view, std::string_view unit) {
  ROOFTILE_TRY(const std::string text, view.string());
  const std::string_view body = trim(text);
  if (body.ends_with(unit)) {
    const auto value = parse_double(trim(body.substr(0, body.size() - unit.size())));
    if (value && *value > 0.0 && *value < 1e6) return *value;
  }
  return view.error(fmt::format("\"{}\" is not a number of {}", printable(text), unit),
                    fmt::format("write for example \"300 {}\"", unit));
}

Result<std::string> required_string(const JsonView& object, std::string_view key) {
  ROOFTILE_TRY(const JsonView member, object.at(key));
  ROOFTILE_TRY(std::string text, member.string());
  if (trim(text).empty()) return member.error("is empty");
  ROOFTILE_CHECK(check_printable(member, text));
  return text;
}

Result<Vendor> read_vendor(const JsonView& root) {
  ROOFTILE_TRY(const JsonView member, root.at("vendor"));
  ROOFTILE_TRY(const std::string text, member.string());
  std::vector<std::string_view> known;
  for (const Vendor vendor : {Vendor::Nvidia, Vendor::Amd, Vendor::Intel, Vendor::Other}) {
    if (text == name_of(vendor)) return vendor;
    known.push_back(name_of(vendor));
  }
  return member.error(fmt::format("unknown vendor \"{}\"", printable(text)),
                      did_you_mean(text, known, "vendors are"));
}

Result<RateKey> rate_key(const std::string& text, const JsonView& at) {
  auto key = parse_rate_key(text);
  if (!key) return at.error(key.error().message, key.error().hint);
  return *key;
}

Status read_flop_per_clock(const JsonView& sm, std::map<RateKey, double>& out) {
  constexpr double kMost = 1 << 24;
  const auto object = sm.find("flop_per_clock");
  if (!object) return {};
  ROOFTILE_TRY(const auto members, object->members());
  for (const auto& [name, member] : members) {
    ROOFTILE_TRY(const RateKey key, rate_key(name, member));
    ROOFTILE_TRY(const double value, member.number());
    if (!(value > 0.0) || value > kMost)
      return member.error(fmt::format("{} is not a FLOP count per SM and clock", value));
    out[key] = value;
  }
  return {};
}

Status expect_schema(const JsonView& root, std::string_view format) {
  ROOFTILE_TRY(const JsonView schema, root.at("schema"));
  ROOFTILE_TRY(const std::int64_t version, schema.integer(0, 1 << 20));
  if (version == 1) return {};
  return schema.unsupported(fmt::format("schema {} is not supported", version),
                            fmt::format("this version reads schema 1 ({})", format));
}

Result<Sources> read_sources(const JsonView& root, std::span<const std::string_view> sections) {
  ROOFTILE_TRY(const JsonView sources, root.at("sources"));
  std::vector<std::string> leaves;
  std::set<std::string> all{""};
  for (const std::string_view key : sections) {
    if (const auto member = root.find(key)) ROOFTILE_CHECK(collect(*member, leaves, all));
  }
  Sources out;
  std::set<std::string> covered;
  ROOFTILE_TRY(const auto members, sources.members());
  for (const auto& [pointer, member] : members) {
    if (!all.contains(pointer)) {
      const std::vector<std::string_view> known(all.begin(), all.end());
      return member.error(fmt::format("the pointer \"{}\" matches no value", printable(pointer)),
                          did_you_mean(pointer, known, "sections are"));
    }
    ROOFTILE_TRY(std::string text, member.string());
    if (trim(text).empty()) return member.error("is empty", "name the document or file");
    covered.insert(pointer);
    out.emplace_back(pointer, std::move(text));
  }
  for (const std::string& leaf : leaves) {
    std::string pointer = leaf;
    while (!covered.contains(pointer) && !pointer.empty()) pointer.resize(pointer.rfind('/'));
    if (!covered.contains(pointer))
      return sources.error(fmt::format("no source for {}", leaf),
                           fmt::format("add \"{}\": \"<document, page>\"", leaf));
  }
  return out;
}

}  // namespace rooftile::hardware
