// SPDX-License-Identifier: Apache-2.0
#include "core/provenance.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/sha256.h"
#include "rooftile/version.h"

namespace rooftile {

namespace {

std::string_view name_of(Catalog::Origin origin) {
  switch (origin) {
    case Catalog::Origin::Embedded: return "embedded";
    case Catalog::Origin::Overlay: return "overlay";
    case Catalog::Origin::File: return "file";
  }
  return "?";
}

}  // namespace

Input make_input(std::string_view kind, std::string_view name, const Catalog::File& file) {
  return {.kind = std::string(kind),
          .name = std::string(name),
          .origin = std::string(name_of(file.origin)),
          .file = file.name,
          .sha256 = sha256(file.content),
          .replaces = file.replaces};
}

Input make_builtin_input(std::string_view kind, std::string_view name) {
  return {.kind = std::string(kind),
          .name = std::string(name),
          .origin = std::string(name_of(Catalog::Origin::Embedded)),
          .file = {},
          .sha256 = {},
          .replaces = {}};
}

void add_inputs(const std::vector<Input>& more, std::vector<Input>& all) {
  for (const Input& input : more) {
    if (!input.kind.empty() && std::find(all.begin(), all.end(), input) == all.end()) {
      all.push_back(input);
    }
  }
}

ProvenanceReport make_provenance(const std::vector<Input>& inputs) {
  ProvenanceReport provenance{.version = std::string(version()), .commit = {}, .inputs = {}};
  if (const auto known = commit()) provenance.commit = std::string(*known);
  add_inputs(inputs, provenance.inputs);
  std::stable_sort(provenance.inputs.begin(), provenance.inputs.end(),
                   [](const Input& a, const Input& b) { return a.kind < b.kind; });
  return provenance;
}

nlohmann::ordered_json provenance_json(const ProvenanceReport& provenance) {
  using nlohmann::ordered_json;
  const auto text_or_null = [](const std::string& text) {
    return text.empty() ? ordered_json(nullptr) : ordered_json(text);
  };
  ordered_json json{{"version", provenance.version},
                    {"commit", text_or_null(provenance.commit.value_or(""))},
                    {"inputs", ordered_json::array()}};
  for (const Input& input : provenance.inputs) {
    ordered_json entry{{"kind", input.kind},
                       {"name", input.name},
                       {"origin", input.origin},
                       {"sha256", text_or_null(input.sha256)}};
    if (!input.file.empty()) entry["file"] = input.file;
    if (!input.replaces.empty()) entry["replaces"] = input.replaces;
    json["inputs"].push_back(std::move(entry));
  }
  return json;
}

std::vector<std::string> replacement_notes(const ProvenanceReport& provenance) {
  std::vector<std::string> notes;
  for (const Input& input : provenance.inputs) {
    if (input.replaces.empty()) continue;
    notes.push_back(fmt::format("{} {} is read from {}, which replaces {}", input.kind, input.name,
                                input.file, input.replaces));
  }
  return notes;
}

}  // namespace rooftile
