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

/// What published models have, with room; a size with three zeros too many or few falls outside.
struct Plausible {
  std::string_view key;
  std::int64_t least, most;
};
constexpr std::array kPlausible{
    Plausible{"hidden_size", 8, 65536},
    Plausible{"n_embd", 8, 65536},
    Plausible{"d_model", 8, 65536},
    Plausible{"num_hidden_layers", 1, 1000},
    Plausible{"n_layer", 1, 1000},
    Plausible{"num_layers", 1, 1000},
    Plausible{"num_decoder_layers", 1, 1000},
    Plausible{"num_attention_heads", 1, 1024},
    Plausible{"n_head", 1, 1024},
    Plausible{"num_heads", 1, 1024},
    Plausible{"num_key_value_heads", 1, 1024},
    Plausible{"head_dim", 4, 2048},
    Plausible{"d_kv", 4, 2048},
    Plausible{"intermediate_size", 16, 524288},
    Plausible{"n_inner", 16, 524288},
    Plausible{"ffn_dim", 16, 524288},
    Plausible{"d_ff", 16, 524288},
    Plausible{"vocab_size", 128, 4000000},
    Plausible{"image_size", 8, 16384},
    Plausible{"patch_size", 1, 1024},
    Plausible{"num_channels", 1, 1024},
    Plausible{"num_local_experts", 1, 2048},
    Plausible{"num_experts", 1, 2048},
};

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
                         fmt::format("\"{}\" is present: is it a misspelling?", printable(name)));
    }
  }
  return {};
}

void HfReader::assume(std::string_view key, std::int64_t value) const {
  sizes_.assumed.push_back(fmt::format("{} = {}{}", key, value, has(key) ? " (null)" : ""));
}

Result<std::int64_t> HfReader::stated(const JsonView& field, std::string_view key,
                                      Limits limits) const {
  ROOFTILE_TRY(const std::int64_t value, field.integer(limits.low, limits.high));
  const auto* range = std::find_if(kPlausible.begin(), kPlausible.end(),
                                   [&](const Plausible& p) { return p.key == key; });
  if (range != kPlausible.end() && (value < range->least || value > range->most)) {
    sizes_.implausible.push_back(
        fmt::format("{} = {} (models have {} to {})", key, value, range->least, range->most));
  }
  return value;
}

Result<std::int64_t> HfReader::read_or(std::string_view key, std::int64_t fallback,
                                       Limits limits) const {
  if (const auto field = find(key)) return stated(*field, key, limits);
  assume(key, fallback);
  return fallback;
}

Result<std::int64_t> HfReader::size_or(std::string_view key, std::int64_t fallback) const {
  return read_or(key, fallback, {.low = 1, .high = kMaxSize});
}

Result<std::int64_t> HfReader::size_or_derived(std::string_view key, std::int64_t derived) const {
  if (const auto field = find(key)) return stated(*field, key, {.low = 1, .high = kMaxSize});
  return derived;
}

Result<std::int64_t> HfReader::count_or(std::string_view key, std::int64_t fallback) const {
  return read_or(key, fallback, {.low = 0, .high = kMaxSize});
}

Result<std::int64_t> HfReader::layers(std::string_view key, std::int64_t fallback) const {
  return read_or(key, fallback, {.low = 1, .high = kMaxLayers});
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
    return field->error(fmt::format("{} is not a probability", probability), "0 to 1");
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

std::vector<std::string> HfSizes::notes(std::string_view config) const {
  std::vector<std::string> notes;
  if (!assumed.empty()) {
    notes.push_back(fmt::format("sizes: not given by the file, assumed as in {}: {}", config,
                                fmt::join(assumed, ", ")));
  }
  if (!implausible.empty()) {
    notes.push_back(
        fmt::format("sizes: out of the range of known models: {}", fmt::join(implausible, ", ")));
  }
  return notes;
}

Result<std::int64_t> label_count(const HfReader& config) {
  constexpr std::int64_t kDefaultLabels = 2;
  if (const auto map = config.root().find("id2label"); map && !config.has("num_labels")) {
    ROOFTILE_TRY(const auto entries, map->members());
    if (!entries.empty()) return static_cast<std::int64_t>(entries.size());
  }
  return config.size_or_derived("num_labels", kDefaultLabels);
}

Status check_no_cache(const JsonView& root, Step step) {
  if (step == Step::Infer || step == Step::Train) return {};
  return root.unsupported(fmt::format("an encoder has no {} phase", name_of(step)),
                          "use infer or train");
}

}  // namespace rooftile::graph
