// SPDX-License-Identifier: Apache-2.0
#include "graph/family/config_scope.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "core/text.h"

namespace rooftile::graph {

namespace {

/// Sizes beyond this are mistakes; the product of two of them is exact in a double.
constexpr std::int64_t kMaxConfigSize = std::int64_t{1} << 24;
constexpr std::int64_t kMaxConfigLayers = 1'000'000;
constexpr std::size_t kMaxListed = 10'000;

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
    Plausible{"moe_intermediate_size", 16, 524288},
    Plausible{"n_inner", 16, 524288},
    Plausible{"ffn_dim", 16, 524288},
    Plausible{"d_ff", 16, 524288},
    Plausible{"vocab_size", 128, 4000000},
    Plausible{"image_size", 8, 16384},
    Plausible{"patch_size", 1, 1024},
    Plausible{"num_channels", 1, 1024},
    Plausible{"num_local_experts", 1, 2048},
    Plausible{"num_experts", 1, 2048},
    Plausible{"n_routed_experts", 1, 2048},
};

/// Keys of the library that few families read and that are nearly the name of one that some do.
constexpr std::array<std::string_view, 14> kOtherKeys{
    "num_labels",     "num_beams",          "n_ctx",   "router_dtype", "router_type", "rope_theta",
    "hidden_dropout", "classifier_dropout", "n_group", "n_groups",     "topk_group",  "num_heads",
    "layer_norm_eps", "attn_type_list"};

/// Keys that stand for blocks of their own: a family that does not read them builds other blocks.
constexpr std::array<std::string_view, 10> kBlockKeys{"num_experts",      "num_local_experts",
                                                      "n_routed_experts", "moe_num_experts",
                                                      "kv_lora_rank",     "ssm_state_size",
                                                      "mamba_d_state",    "linear_num_value_heads",
                                                      "mamba_num_heads",  "hc_mult"};

bool is_more_than_one(const JsonView& view) {
  const auto number = view.is_number() ? view.number() : Result<double>(0.0);
  return number && *number > 1;
}

Result<std::vector<std::string>> texts(const JsonView& view) {
  std::vector<std::string> out;
  if (view.is_string()) {
    ROOFTILE_TRY(std::string text, view.string());
    out.push_back(std::move(text));
    return out;
  }
  ROOFTILE_TRY(const auto elements, view.elements());
  for (const JsonView& element : elements) {
    ROOFTILE_TRY(std::string text, element.string());
    out.push_back(std::move(text));
  }
  if (out.empty()) return view.error("the list of keys is empty");
  return out;
}

bool is_size(std::string_view type) {
  return type == "size" || type == "count" || type == "layers" || type == "extent";
}

struct KeyLimits {
  std::int64_t low, high;
};
KeyLimits limits_of(std::string_view type) {
  if (type == "layers") return {.low = 1, .high = kMaxConfigLayers};
  return {.low = type == "count" ? 0 : 1, .high = kMaxConfigSize};
}

}  // namespace

std::vector<std::string> SizeNotes::notes(std::string_view config) const {
  std::vector<std::string> notes;
  if (!assumed.empty()) {
    notes.push_back(fmt::format("sizes: not in the file, assumed as in {}: {}", config,
                                fmt::join(assumed, ", ")));
  }
  if (!implausible.empty()) {
    notes.push_back(
        fmt::format("sizes: outside the range of known models: {}", fmt::join(implausible, ", ")));
  }
  if (!unread.empty()) {
    notes.push_back(
        fmt::format("sizes: {} does not read {}: the model may have other blocks than this graph",
                    config, fmt::join(unread, ", ")));
  }
  return notes;
}

std::optional<JsonView> find_path(const JsonView& object, std::string_view path) {
  std::optional<JsonView> at = object;
  for (const std::string_view step : split(path, '/')) {
    if (at) at = at->find(step);
  }
  return at;
}

Result<Value> literal(const JsonView& view) {
  if (view.is_boolean()) return view.boolean().map([](bool b) { return Value(b); });
  if (view.is_string()) return view.string().map([](std::string s) { return Value(std::move(s)); });
  if (view.is_number()) {
    ROOFTILE_TRY(const double number, view.number());
    constexpr double kExact = 9e15;
    if (number ==
        static_cast<double>(static_cast<std::int64_t>(std::clamp(number, -kExact, kExact)))) {
      return Value(static_cast<std::int64_t>(number));
    }
    return Value(number);
  }
  if (!view.is_array()) return view.error("expected a number, a string, true or false, or a list");
  ROOFTILE_TRY(const auto elements, view.elements());
  if (elements.size() > kMaxListed) {
    return view.error(fmt::format("the list has {} elements", elements.size()),
                      fmt::format("up to {}", kMaxListed));
  }
  List list;
  for (const JsonView& element : elements) {
    ROOFTILE_TRY(Value value, literal(element));
    list.push_back(std::move(value));
  }
  return Value(std::move(list));
}

Result<Value> ConfigScope::value_of(std::string_view name) const {
  // The family's values are the same everywhere: they see the request, not what a template binds.
  for (std::size_t i = pending_.empty() ? frames_.size() : 1; i-- > 0;) {
    if (const auto it = frames_[i].find(name); it != frames_[i].end()) return it->second;
  }
  if (const auto known = values_.find(name); known != values_.end()) return known->second;
  const auto& specs = family_.values();
  const auto spec = std::find_if(specs.begin(), specs.end(),
                                 [&](const auto& entry) { return entry.first == name; });
  if (spec == specs.end()) {
    std::vector<std::string_view> names;
    for (const auto& [known, view] : specs) names.push_back(known);
    return bad_input({}, fmt::format("unknown name \"{}\"", printable(name)),
                     did_you_mean(name, names, "the family's values are"));
  }
  if (!pending_.emplace(name).second) {
    return spec->second.error(fmt::format("the value \"{}\" depends on itself", name));
  }
  Result<Value> value = spec->second.is_object() ? read_key(spec->second) : evaluate(spec->second);
  pending_.erase(std::string(name));
  if (value) values_.emplace(name, *value);
  return value;
}

Status ConfigScope::read_all() const {
  for (const auto& [name, spec] : family_.values()) {
    if (spec.is_object()) ROOFTILE_CHECK(value_of(name));
  }
  return {};
}

Result<Value> ConfigScope::evaluate(const JsonView& view) const {
  if (view.is_array()) {
    ROOFTILE_TRY(const auto elements, view.elements());
    List list;
    for (const JsonView& element : elements) {
      ROOFTILE_TRY(Value value, evaluate(element));
      list.push_back(std::move(value));
    }
    return Value(std::move(list));
  }
  if (!view.is_string()) return literal(view);
  ROOFTILE_TRY(const std::string text, view.string());
  Result<Value> value = graph::evaluate(text, *this);
  if (!value && value.error().where.empty()) value.error().where = view.where();
  return value;
}

Result<std::int64_t> ConfigScope::integer(const JsonView& view, std::int64_t low,
                                          std::int64_t high) const {
  ROOFTILE_TRY(const Value value, evaluate(view));
  const std::int64_t* whole = value.integer();
  if (whole == nullptr) {
    return view.error(fmt::format("expected a whole number, found {}", value.printed()));
  }
  if (*whole < low || *whole > high) {
    return view.error(fmt::format("{} is outside {} to {}", *whole, low, high));
  }
  return *whole;
}

Result<bool> ConfigScope::truth(const JsonView& view) const {
  ROOFTILE_TRY(const Value value, evaluate(view));
  return value.truth();
}

/// Where the key is looked for, in this order: the object that the value names ("in"), or the
/// family's section and the file itself.
Result<std::vector<JsonView>> ConfigScope::sections(const std::optional<JsonView>& in) const {
  std::vector<JsonView> places;
  if (in) {
    ROOFTILE_TRY(const auto names, texts(*in));
    for (const std::string& path : names) {
      const auto at = find_path(config_, path);
      if (at && at->is_object()) places.push_back(*at);
    }
    return places;
  }
  if (const auto section = family_.find("section")) {
    ROOFTILE_TRY(const auto names, texts(*section));
    for (const std::string& path : names) {
      const auto at = find_path(config_, path);
      if (at && at->is_object()) places.push_back(*at);
    }
  }
  places.push_back(config_);
  return places;
}

Result<ConfigScope::Found> ConfigScope::find_key(const JsonView& spec) const {
  ROOFTILE_TRY(const JsonView field, spec.at("key"));
  ROOFTILE_TRY(const auto keys, texts(field));
  ROOFTILE_TRY(const auto places, sections(spec.find("in")));
  Found found{.view = {}, .present = false, .key = keys.front()};
  for (const JsonView& place : places) {
    for (const std::string& key : keys) {
      if (!place.contains(key)) continue;
      found.present = true;
      found.view = place.find(key);
      if (found.view) return found;
    }
    if (found.present) return found;  // null in the section is null
  }
  return found;
}

Result<Value> ConfigScope::read_key(const JsonView& spec) const {
  constexpr std::array<std::string_view, 8> kKeys{"key",     "in",   "type",      "default",
                                                  "derived", "when", "otherwise", "each"};
  ROOFTILE_CHECK(spec.expect_keys(kKeys));
  ROOFTILE_TRY(const JsonView type_field, spec.at("type"));
  ROOFTILE_TRY(const std::string type, type_field.string());
  if (const auto condition = spec.find("when")) {
    ROOFTILE_TRY(const bool applies, truth(*condition));
    if (!applies) {
      const auto otherwise = spec.find("otherwise");
      return otherwise ? evaluate(*otherwise) : Result<Value>(Value());
    }
  }
  ROOFTILE_TRY(const Found found, find_key(spec));
  if (type == "present") return Value(found.view.has_value());
  return found.view ? read_present(spec, found, type) : read_absent(spec, found, type);
}

namespace {

/// "vision_config/", for a key that is in an object of its own.
Result<std::string> section_of(const JsonView& spec) {
  const auto in = spec.find("in");
  if (!in) return std::string();
  ROOFTILE_TRY(const auto names, texts(*in));
  return names.front() + "/";
}

}  // namespace

Result<Value> ConfigScope::read_absent(const JsonView& spec, const Found& found,
                                       std::string_view type) const {
  const auto fallback = spec.find("default");
  const auto derived = spec.find("derived");
  const bool derives = derived && (found.present || !fallback);
  const auto& source = derives ? derived : fallback;
  if (!source) return Value();
  ROOFTILE_TRY(const Value value,
               type == "text" && !derives ? literal(*source) : evaluate(*source));
  // Where the class has no number of its own, or null means "none", nothing is assumed.
  const bool none = value.is_null() || (value.is_number() && value.number() == 0.0);
  if (is_size(type) && !value.is_null() && !(derives && (!fallback || none))) {
    ROOFTILE_TRY(const std::string section, section_of(spec));
    sizes_.assumed.push_back(fmt::format("{}{} = {}{}", section, found.key, value.printed(),
                                         found.present ? " (null)" : ""));
  }
  if (type == "probability") return Value(value.number() > 0.0);
  return value;
}

/// One value of each object of a list; null where it is absent.
Result<Value> ConfigScope::read_each(const JsonView& each, const JsonView& field) {
  ROOFTILE_TRY(const std::string path, each.string());
  ROOFTILE_TRY(const auto elements, field.elements());
  if (elements.size() > kMaxListed) {
    return field.error(fmt::format("the list has {} elements", elements.size()),
                       fmt::format("up to {}", kMaxListed));
  }
  List list;
  for (const JsonView& element : elements) {
    const auto found = find_path(element, path);
    ROOFTILE_TRY(Value value, found ? literal(*found) : Result<Value>(Value()));
    list.push_back(std::move(value));
  }
  return Value(std::move(list));
}

Result<Value> ConfigScope::read_present(const JsonView& spec, const Found& found,
                                        std::string_view type) const {
  const JsonView& field = *found.view;
  if (type == "flag") return field.boolean().map([](bool b) { return Value(b); });
  if (type == "text") {
    return field.string().map([](std::string s) { return Value(std::move(s)); });
  }
  if (const auto each = spec.find("each")) return read_each(*each, field);
  if (type == "list" || type == "any") return literal(field);
  if (type == "number") return field.number().map([](double n) { return Value(n); });
  if (type == "entries") {
    ROOFTILE_TRY(const auto members, field.members());
    return Value(static_cast<std::int64_t>(members.size()));
  }
  if (type == "probability") {
    ROOFTILE_TRY(const double probability, field.number());
    if (!(probability >= 0.0 && probability <= 1.0)) {
      return field.error(fmt::format("{} is not a probability", probability), "0 to 1");
    }
    return Value(probability > 0.0);
  }
  if (type == "extent" && field.is_array()) {
    ROOFTILE_TRY(const auto sides, field.elements());
    if (sides.size() != 2) return field.error("two sides are needed", "write [height, width]");
    List extent;
    for (const JsonView& side : sides) {
      ROOFTILE_TRY(const std::int64_t size, side.integer(1, kMaxConfigSize));
      extent.emplace_back(size);
    }
    return Value(std::move(extent));
  }
  if (!is_size(type)) {
    ROOFTILE_TRY(const JsonView type_field, spec.at("type"));
    return type_field.error(
        fmt::format("unknown type \"{}\"", printable(type)),
        "size, count, layers, extent, flag, text, number, probability, list, entries, present, "
        "any");
  }
  const KeyLimits limits = limits_of(type);
  ROOFTILE_TRY(const std::int64_t size, field.integer(limits.low, limits.high));
  const auto* range = std::find_if(kPlausible.begin(), kPlausible.end(),
                                   [&](const Plausible& p) { return p.key == found.key; });
  if (range != kPlausible.end() && (size < range->least || size > range->most)) {
    sizes_.implausible.push_back(
        fmt::format("{} = {} (models have {} to {})", found.key, size, range->least, range->most));
  }
  return Value(size);
}

JsonView ConfigScope::place_of(std::string_view value) const {
  for (const auto& [name, spec] : family_.values()) {
    if (name != value || !spec.is_object()) continue;
    const auto found = find_key(spec);
    if (found && found->view) return *found->view;
  }
  return config_;
}

Status ConfigScope::check_spelling() const {
  std::vector<std::string> read;  // keys of the section or the file, with their aliases
  std::vector<std::string> absent;
  for (const auto& [name, spec] : family_.values()) {
    if (!spec.is_object() || spec.find("in")) continue;
    ROOFTILE_TRY(const JsonView field, spec.at("key"));
    ROOFTILE_TRY(const auto keys, texts(field));
    ROOFTILE_TRY(const Found found, find_key(spec));
    read.insert(read.end(), keys.begin(), keys.end());
    if (!found.present) absent.push_back(keys.front());
  }
  std::vector<std::string> ignored;
  ROOFTILE_TRY(const auto views, family_.all("ignored"));
  for (const JsonView& view : views) {
    ROOFTILE_TRY(std::string key, view.string());
    ignored.push_back(std::move(key));
  }
  ROOFTILE_TRY(const auto places, sections(std::nullopt));
  const JsonView& object = places.front();
  ROOFTILE_TRY(const auto members, object.members());
  const auto contains = [](const auto& list, const std::string& name) {
    return std::find(list.begin(), list.end(), name) != list.end();
  };
  for (const auto& [name, value] : members) {
    if (contains(read, name)) continue;
    if (contains(kBlockKeys, name) && is_more_than_one(value)) sizes_.unread.push_back(name);
    if (contains(ignored, name) || contains(kOtherKeys, name)) continue;
    for (const std::string& key : absent) {
      const std::size_t allowed = key.size() < 8 ? 1 : 2;
      if (edit_distance(name, key) > allowed) continue;
      return object.error(fmt::format("missing key \"{}\"", key),
                          fmt::format("\"{}\" is present: is it a misspelling?", printable(name)));
    }
  }
  return {};
}

}  // namespace rooftile::graph
