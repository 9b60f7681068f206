// SPDX-License-Identifier: Apache-2.0
#include "graph/family/family.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "core/provenance.h"
#include "core/text.h"
#include "graph/family/expression.h"

namespace rooftile::graph {

namespace {

constexpr std::string_view kFamilyFolder = "families/";
constexpr std::string_view kFamilyExtension = ".json";
constexpr std::int64_t kFamilyVersion = 1;
constexpr std::size_t kMaxChain = 8;

std::string family_file(std::string_view name) {
  return fmt::format("{}{}{}", kFamilyFolder, name, kFamilyExtension);
}

bool is_family_name(std::string_view name) {
  return !name.empty() && name.size() <= 100 && std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '-' || c == '.';
  });
}

Result<std::vector<std::string>> model_types_of(const JsonView& root) {
  std::vector<std::string> types;
  const auto list = root.find("model_types");
  if (!list) return types;
  ROOFTILE_TRY(const auto elements, list->elements());
  for (const JsonView& element : elements) {
    ROOFTILE_TRY(std::string type, element.string());
    types.push_back(std::move(type));
  }
  return types;
}

}  // namespace

Result<Family> Family::load(const Catalog& catalog, std::string_view name) {
  Family family;
  family.name_ = name;
  ROOFTILE_CHECK(family.read(catalog, name, 0));
  ROOFTILE_TRY(family.model_types_, model_types_of(family.chain_.back().root()));
  ROOFTILE_TRY(family.values_, family.merged("values"));
  ROOFTILE_TRY(family.per_layer_, family.merged("per_layer"));
  ROOFTILE_TRY(family.parts_, family.merged("parts"));
  return family;
}

Status Family::read(const Catalog& catalog, std::string_view name, std::size_t depth) {
  ROOFTILE_TRY(const Catalog::File file, catalog.read(family_file(name)));
  ROOFTILE_TRY(JsonDocument document, JsonDocument::parse(file.content, file.name));
  const JsonView root = document.root();
  ROOFTILE_TRY(const JsonView version, root.at("rooftile_family"));
  ROOFTILE_TRY(const std::int64_t number, version.integer(0, 1000));
  if (number != kFamilyVersion) {
    return version.unsupported(
        fmt::format("version {} of the family format is not supported", number),
        fmt::format("this program reads version {}", kFamilyVersion));
  }
  if (const auto base = root.find("extends")) {
    ROOFTILE_TRY(const std::string text, base->string());
    if (depth + 1 >= kMaxChain) {
      return base->error("a chain of families that extend each other is too long",
                         fmt::format("up to {}", kMaxChain));
    }
    if (!is_family_name(text) || !catalog.contains(family_file(text))) {
      return base->error(fmt::format("the family \"{}\" does not exist", printable(text)),
                         "name a file of families/ without its .json");
    }
    ROOFTILE_CHECK(read(catalog, text, depth + 1));
  }
  inputs_.push_back(make_input("family", std::string(name), file));
  chain_.push_back(std::move(document));
  return {};
}

Result<NamedViews> Family::merged(std::string_view key) const {
  constexpr std::size_t kMost = 500;
  NamedViews views;
  for (const JsonDocument& document : chain_) {
    const auto object = document.root().find(key);
    if (!object) continue;
    ROOFTILE_TRY(const auto members, object->members());
    for (const auto& [name, view] : members) {
      const auto known = std::find_if(views.begin(), views.end(),
                                      [&](const auto& entry) { return entry.first == name; });
      if (known != views.end()) {
        known->second = view;
      } else {
        views.emplace_back(name, view);
      }
    }
    if (views.size() > kMost) {
      return object->error(fmt::format("more than {} names in \"{}\"", kMost, key));
    }
  }
  return views;
}

std::optional<JsonView> Family::find(std::string_view key) const {
  for (auto document = chain_.rbegin(); document != chain_.rend(); ++document) {
    if (auto view = document->root().find(key)) return view;
  }
  return std::nullopt;
}

Result<std::string> Family::text(std::string_view key) const {
  const auto view = find(key);
  return view ? view->string() : Result<std::string>(std::string{});
}

std::optional<JsonView> Family::part(std::string_view name) const {
  for (const auto& [known, view] : parts_) {
    if (known == name) return view;
  }
  return std::nullopt;
}

Result<std::vector<JsonView>> Family::all(std::string_view key) const {
  std::vector<JsonView> views;
  for (const JsonDocument& document : chain_) {
    const auto list = document.root().find(key);
    if (!list) continue;
    ROOFTILE_TRY(const auto elements, list->elements());
    views.insert(views.end(), elements.begin(), elements.end());
  }
  return views;
}

std::vector<std::string> Families::names() const {
  std::vector<std::string> names;
  for (const std::string& file : catalog_->list(kFamilyFolder)) {
    if (!file.ends_with(kFamilyExtension)) continue;
    names.push_back(file.substr(kFamilyFolder.size(),
                                file.size() - kFamilyFolder.size() - kFamilyExtension.size()));
  }
  return names;
}

Result<std::shared_ptr<const Family>> Families::load(const std::string& name) {
  if (const auto known = loaded_.find(name); known != loaded_.end()) return known->second;
  ROOFTILE_TRY(Family family, Family::load(*catalog_, name));
  return loaded_.emplace(name, std::make_shared<const Family>(std::move(family))).first->second;
}

/// What the files themselves say: what they extend need not be read to find a type.
Status Families::read_types() {
  if (!types_.empty()) return {};
  std::map<std::string, std::string, std::less<>> types;
  for (const std::string& name : names()) {
    ROOFTILE_TRY(const Catalog::File file, catalog_->read(family_file(name)));
    ROOFTILE_TRY(const JsonDocument document, JsonDocument::parse(file.content, file.name));
    ROOFTILE_TRY(const std::vector<std::string> stated, model_types_of(document.root()));
    for (const std::string& type : stated) types.try_emplace(type, name);
  }
  types_ = std::move(types);
  return {};
}

Result<std::shared_ptr<const Family>> Families::find(std::string_view model_type) {
  const auto has = [&](const Family& family) {
    const auto& types = family.model_types();
    return std::find(types.begin(), types.end(), model_type) != types.end();
  };
  // Most files are called as their type is: the others need not be read then.
  if (is_family_name(model_type) && catalog_->contains(family_file(model_type))) {
    ROOFTILE_TRY(auto family, load(std::string(model_type)));
    if (has(*family)) return family;
  }
  ROOFTILE_CHECK(read_types());
  if (const auto known = types_.find(model_type); known != types_.end()) return load(known->second);
  return std::shared_ptr<const Family>();
}

Result<std::vector<std::string>> Families::model_types() {
  ROOFTILE_CHECK(read_types());
  std::vector<std::string> types;
  for (const auto& [type, name] : types_) types.push_back(type);
  return types;
}

}  // namespace rooftile::graph
