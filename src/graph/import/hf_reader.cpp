// SPDX-License-Identifier: Apache-2.0
#include "graph/import/hf_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cassert>

#include "core/text.h"

namespace rooftile::graph {

namespace {

/// Keys of the library that the importers do not read and that are nearly the name of one they do.
constexpr std::array<std::string_view, 12> kOtherKeys{
    "activation_dropout", "num_beams",      "num_labels",   "type_vocab_size",
    "use_sliding_window", "num_experts",    "n_ctx",        "hidden_activation",
    "classifier_dropout", "hidden_dropout", "router_dtype", "router_type"};

template <typename Range>
bool contains(const Range& range, std::string_view key) {
  return std::find(range.begin(), range.end(), key) != range.end();
}

}  // namespace

std::optional<JsonView> HfReader::find(std::string_view key) const {
  assert(contains(keys_, key));  // check_spelling() knows what is read
  if (auto field = root_.find(key)) return field;
  for (const HfAlias& alias : aliases_) {
    if (alias.key == key) return root_.find(alias.alias);
  }
  return std::nullopt;
}

Status HfReader::check_spelling() const {
  ROOFTILE_TRY(const auto members, root_.members());
  std::vector<std::string_view> absent;
  for (const std::string_view key : keys_) {
    if (!has(key)) absent.push_back(key);
  }
  for (const auto& [name, value] : members) {
    const bool alias = std::any_of(aliases_.begin(), aliases_.end(),
                                   [&](const HfAlias& a) { return a.alias == name; });
    if (alias || contains(keys_, name) || contains(kOtherKeys, name)) continue;
    if (const auto near = nearest(name, absent)) {
      return root_.error(fmt::format("missing key \"{}\"", *near),
                         fmt::format("\"{}\" is there: is it a misspelling?", printable(name)));
    }
  }
  return {};
}

Result<std::int64_t> HfReader::size_or(std::string_view key, std::int64_t fallback) const {
  const auto field = find(key);
  return field ? field->integer(1, kMaxSize) : Result<std::int64_t>(fallback);
}

Result<std::int64_t> HfReader::count_or(std::string_view key, std::int64_t fallback) const {
  const auto field = find(key);
  return field ? field->integer(0, kMaxSize) : Result<std::int64_t>(fallback);
}

Result<std::int64_t> HfReader::layers(std::string_view key, std::int64_t fallback) const {
  const auto field = find(key);
  return field ? field->integer(1, kMaxLayers) : Result<std::int64_t>(fallback);
}

Result<bool> HfReader::flag(std::string_view key, bool fallback) const {
  const auto field = find(key);
  return field ? field->boolean() : Result<bool>(fallback);
}

Result<std::string> HfReader::text(std::string_view key, std::string_view fallback) const {
  const auto field = find(key);
  return field ? field->string() : Result<std::string>(std::string(fallback));
}

Status HfReader::refuse_flag(std::string_view key) const {
  ROOFTILE_TRY(const bool set, flag(key, false));
  if (!set) return {};
  return find(key)->unsupported(fmt::format("{} is not supported", key),
                                "set it to false, or describe the model as a native graph");
}

Status HfReader::expect_text(std::string_view key, std::string_view supported) const {
  ROOFTILE_TRY(const std::string value, text(key, supported));
  if (value == supported) return {};
  return find(key)->unsupported(fmt::format("{} \"{}\" is not supported", key, printable(value)),
                                fmt::format("supported: \"{}\"", supported));
}

Result<bool> HfReader::dropout(std::string_view key, double fallback) const {
  const auto field = find(key);
  if (!field) return fallback > 0.0;
  ROOFTILE_TRY(const double probability, field->number());
  if (!(probability >= 0.0 && probability <= 1.0)) {
    return field->error(fmt::format("{} is no probability", probability), "0 to 1");
  }
  return probability > 0.0;
}

Result<std::int64_t> HfReader::head_size(std::string_view heads_key, std::int64_t width,
                                         std::int64_t heads) const {
  if (width % heads == 0) return width / heads;
  const std::string message = fmt::format("{} heads do not divide a width of {}", heads, width);
  const auto field = find(heads_key);
  return field ? field->error(message, "the width is a multiple of the number of heads")
               : root_.error(message, "the width is a multiple of the number of heads");
}

bool HfReader::has(std::string_view key) const {
  const auto members = root_.members();
  if (!members) return false;
  const auto present = [&](std::string_view name) {
    return std::any_of(members->begin(), members->end(),
                       [&](const auto& member) { return member.first == name; });
  };
  return present(key) || std::any_of(aliases_.begin(), aliases_.end(), [&](const HfAlias& alias) {
           return alias.key == key && present(alias.alias);
         });
}

Result<std::int64_t> label_count(const HfReader& config) {
  constexpr std::int64_t kDefaultLabels = 2;
  if (const auto map = config.root().find("id2label"); map && !config.has("num_labels")) {
    ROOFTILE_TRY(const auto entries, map->members());
    if (!entries.empty()) return static_cast<std::int64_t>(entries.size());
  }
  return config.size_or("num_labels", kDefaultLabels);
}

Status check_no_cache(const JsonView& root, Step step) {
  if (step == Step::Infer || step == Step::Train) return {};
  return root.unsupported(fmt::format("an encoder has no {} phase", name_of(step)),
                          "use infer or train");
}

}  // namespace rooftile::graph
