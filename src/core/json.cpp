// SPDX-License-Identifier: Apache-2.0
#include "core/json.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <unordered_set>

namespace rooftile {

using nlohmann::ordered_json;

struct JsonDocument::Content {
  std::string name;
  ordered_json root;
};

namespace {

std::string kind_of(const ordered_json& node) {
  switch (node.type()) {
    case ordered_json::value_t::object: return "an object";
    case ordered_json::value_t::array: return "a list";
    case ordered_json::value_t::string: return "a string";
    case ordered_json::value_t::boolean: return "true/false";
    case ordered_json::value_t::null: return "null";
    default: return "a number";
  }
}

std::string escape_pointer(std::string_view key) {
  std::string out;
  for (const char c : key) {
    if (c == '~') {
      out += "~0";
    } else if (c == '/') {
      out += "~1";
    } else {
      out += c;
    }
  }
  return out;
}

/// Stands for a string that was taken out of the text.
constexpr std::string_view kLifted = "\x01";

/// Builds the tree from parser events, refusing what a tree parser would take in silence:
/// duplicate keys (the last would win) and nesting that could exhaust the stack later.
class CheckedBuilder : public nlohmann::json_sax<ordered_json> {
 public:
  CheckedBuilder(ordered_json& root, std::size_t max_depth,
                 std::span<const std::string_view> lifted)
      : root_(root), max_depth_(max_depth), lifted_(lifted) {}

  bool null() override { return add(nullptr); }
  bool boolean(bool value) override { return add(value); }
  bool number_integer(number_integer_t value) override { return add(value); }
  bool number_unsigned(number_unsigned_t value) override { return add(value); }
  bool number_float(number_float_t value, const string_t& text) override {
    if (!std::isfinite(value)) return fail("number out of range: " + printable(text));
    return add(value);
  }
  bool string(string_t& value) override {
    if (!lifted_.empty() && value == kLifted) return add(std::string(lifted_[next_lifted_++]));
    return add(std::move(value));
  }
  bool binary(binary_t& /*value*/) override { return fail("binary data"); }
  bool start_object(std::size_t /*size*/) override { return open(false); }
  bool end_object() override { return close(); }
  bool start_array(std::size_t /*size*/) override { return open(true); }
  bool end_array() override { return close(); }
  bool key(string_t& value) override {
    if (!is_new(open_.back(), value)) {
      return fail(fmt::format("the key \"{}\" appears twice in one object", printable(value)));
    }
    open_.back().key = std::move(value);
    return true;
  }
  bool parse_error(std::size_t position, const std::string& /*token*/,
                   const nlohmann::detail::exception& /*e*/) override {
    error_position = position;
    return fail("not valid JSON");
  }

  std::string message;
  std::size_t error_position = 0;

 private:
  /// A list or an object whose end has not come. Its members are kept here until then: as keys of
  /// an ordered_json are constant, an object that grows would copy all that is in it.
  struct Open {
    bool is_array = false;
    std::string key;  ///< of the next member
    std::vector<std::pair<std::string, ordered_json>> members;
    ordered_json::array_t elements;
    std::unordered_set<std::string> keys;  ///< of the members, where they are many
  };

  static bool is_new(Open& object, const std::string& key) {
    constexpr std::size_t kFew = 16;
    if (object.members.size() < kFew) {
      return std::none_of(object.members.begin(), object.members.end(),
                          [&key](const auto& member) { return member.first == key; });
    }
    if (object.keys.empty()) {
      for (const auto& [name, value] : object.members) object.keys.insert(name);
    }
    return object.keys.insert(key).second;
  }

  template <typename V>
  bool add(V&& value) {
    if (open_.empty()) {
      root_ = std::forward<V>(value);
    } else if (open_.back().is_array) {
      open_.back().elements.emplace_back(std::forward<V>(value));
    } else {
      Open& object = open_.back();
      object.members.emplace_back(std::move(object.key), std::forward<V>(value));
    }
    return true;
  }
  bool open(bool is_array) {
    if (open_.size() >= max_depth_) {
      return fail(fmt::format("nested more than {} levels deep", max_depth_));
    }
    open_.emplace_back().is_array = is_array;
    return true;
  }
  bool close() {
    Open done = std::move(open_.back());
    open_.pop_back();
    if (done.is_array) return add(ordered_json(std::move(done.elements)));
    ordered_json object = ordered_json::object();
    ordered_json::object_t::Container& members = object.get_ref<ordered_json::object_t&>();
    members.reserve(done.members.size());
    for (auto& [key, value] : done.members) members.emplace_back(std::move(key), std::move(value));
    return add(std::move(object));
  }
  bool fail(std::string text) {
    message = std::move(text);
    return false;
  }

  ordered_json& root_;
  std::size_t max_depth_;
  std::span<const std::string_view> lifted_;
  std::size_t next_lifted_ = 0;
  std::vector<Open> open_;
};

/// The lexer looks at every character of a string several times, and most of a file of weights is a
/// few strings of ten thousand characters. Long values of plain characters, which need no look, are
/// taken out of the text before it is parsed.
struct LiftedText {
  std::string rest;                      ///< the text with "\u0001" in their places
  std::vector<std::string_view> values;  ///< in order
};

/// Only of a text that is worth it and in which nothing can be mistaken for a place.
std::optional<LiftedText> lift_long_strings(std::string_view text) {
  constexpr std::size_t kLeastText = 64 << 10, kLong = 512;
  constexpr std::string_view kPlace = "\\u0001";  // kLifted, as JSON writes it
  if (text.size() < kLeastText || text.find(kPlace) != std::string_view::npos) return std::nullopt;
  LiftedText out;
  std::size_t copied = 0;
  for (std::size_t open = text.find('"'); open != std::string_view::npos;) {
    std::size_t close = text.find('"', open + 1);
    while (close !=
           std::string_view::npos) {  // a quote behind an odd number of backslashes is text
      std::size_t slashes = 0;
      while (text[close - 1 - slashes] == '\\') ++slashes;
      if (slashes % 2 == 0) break;
      close = text.find('"', close + 1);
    }
    if (close == std::string_view::npos) return std::nullopt;
    const std::string_view value = text.substr(open + 1, close - open - 1);
    const auto plain = [](char c) { return c >= ' ' && c <= '~' && c != '\\'; };
    const std::size_t next = text.find_first_not_of(" \t\r\n", close + 1);
    const bool key = next != std::string_view::npos && text[next] == ':';
    if (!key && value.size() >= kLong && std::all_of(value.begin(), value.end(), plain)) {
      out.rest.append(text.substr(copied, open + 1 - copied)).append(kPlace);
      out.values.push_back(value);
      copied = close;
    }
    open = text.find('"', close + 1);
  }
  if (out.values.empty()) return std::nullopt;
  out.rest.append(text.substr(copied));
  return out;
}

std::string line_and_column(std::string_view text, std::size_t position) {
  const std::string_view before = text.substr(0, std::min(position, text.size()));
  const auto line = std::count(before.begin(), before.end(), '\n') + 1;
  const std::size_t newline = before.rfind('\n');
  const std::size_t column =
      newline == std::string_view::npos ? before.size() : before.size() - newline - 1;
  return fmt::format("{}:{}", line, std::max<std::size_t>(1, column));
}

}  // namespace

JsonDocument::JsonDocument(std::unique_ptr<Content> content) : content_(std::move(content)) {
}
JsonDocument::JsonDocument(JsonDocument&&) noexcept = default;
JsonDocument& JsonDocument::operator=(JsonDocument&&) noexcept = default;
JsonDocument::~JsonDocument() = default;

Result<JsonDocument> JsonDocument::parse(std::string_view text, std::string name,
                                         const JsonLimits& limits) {
  if (text.size() > limits.max_bytes) {
    return bad_input(name, fmt::format("larger than {} bytes", limits.max_bytes));
  }
  auto content = std::make_unique<Content>();
  if (const auto lifted = lift_long_strings(text)) {
    CheckedBuilder builder(content->root, limits.max_depth, lifted->values);
    if (ordered_json::sax_parse(lifted->rest.begin(), lifted->rest.end(), &builder)) {
      content->name = std::move(name);
      return JsonDocument(std::move(content));
    }
    content->root = nullptr;  // what is wrong is said of the text as it is
  }
  CheckedBuilder builder(content->root, limits.max_depth, {});
  if (!ordered_json::sax_parse(text.begin(), text.end(), &builder)) {
    if (builder.error_position == 0) return bad_input(std::move(name), builder.message);
    return bad_input(name + ":" + line_and_column(text, builder.error_position), builder.message,
                     "check the text just before this place");
  }
  content->name = std::move(name);
  return JsonDocument(std::move(content));
}

JsonView JsonDocument::root() const {
  return {&content_->name, &content_->root, ""};
}

std::string JsonView::where() const {
  return *file_ + ":" + (pointer_.empty() ? "/" : pointer_);
}

bool JsonView::is_object() const {
  return node_->is_object();
}
bool JsonView::is_array() const {
  return node_->is_array();
}
bool JsonView::is_string() const {
  return node_->is_string();
}
bool JsonView::is_number() const {
  return node_->is_number();
}
bool JsonView::is_boolean() const {
  return node_->is_boolean();
}

JsonView JsonView::child(const ordered_json& node, std::string_view key) const {
  return {file_, &node, pointer_ + "/" + escape_pointer(key)};
}

tl::unexpected<Error> JsonView::error(std::string message, std::string hint) const {
  return bad_input(where(), std::move(message), std::move(hint));
}
tl::unexpected<Error> JsonView::unsupported(std::string message, std::string hint) const {
  return rooftile::unsupported(where(), std::move(message), std::move(hint));
}
tl::unexpected<Error> JsonView::wrong_type(std::string_view expected) const {
  return error(fmt::format("expected {}, found {}", expected, kind_of(*node_)));
}

bool JsonView::contains(std::string_view key) const {
  return node_->is_object() && node_->contains(key);
}

std::optional<JsonView> JsonView::find(std::string_view key) const {
  if (!node_->is_object()) return std::nullopt;
  const auto it = node_->find(key);
  if (it == node_->end() || it->is_null()) return std::nullopt;
  return child(*it, key);
}

Result<JsonView> JsonView::at(std::string_view key) const {
  if (!node_->is_object()) return wrong_type("an object");
  if (auto found = find(key)) return *std::move(found);
  std::vector<std::string_view> present;
  for (const auto& [name, value] : node_->items()) present.push_back(name);
  const auto near = nearest(key, present);
  return error(fmt::format("missing key \"{}\"", key),
               near ? fmt::format("\"{}\" is present: is it a misspelling?", printable(*near))
                    : fmt::format("add \"{}\"", key));
}

Result<std::vector<std::pair<std::string, JsonView>>> JsonView::members() const {
  if (!node_->is_object()) return wrong_type("an object");
  std::vector<std::pair<std::string, JsonView>> out;
  out.reserve(node_->size());
  for (const auto& [key, value] : node_->items()) out.emplace_back(key, child(value, key));
  return out;
}

Result<std::vector<JsonView>> JsonView::elements() const {
  if (!node_->is_array()) return wrong_type("a list");
  std::vector<JsonView> out;
  out.reserve(node_->size());
  for (std::size_t i = 0; i < node_->size(); ++i)
    out.push_back(child((*node_)[i], std::to_string(i)));
  return out;
}

Result<std::string> JsonView::string() const {
  if (!node_->is_string()) return wrong_type("a string");
  return node_->get_ref<const std::string&>();
}

Result<bool> JsonView::boolean() const {
  if (!node_->is_boolean()) return wrong_type("true or false");
  return node_->get<bool>();
}

Result<double> JsonView::number() const {
  if (!node_->is_number()) return wrong_type("a number");
  return node_->get<double>();
}

Result<std::int64_t> JsonView::integer(std::int64_t low, std::int64_t high) const {
  if (!node_->is_number()) return wrong_type("a whole number");
  const double value = node_->get<double>();
  if (value != std::floor(value))
    return error(fmt::format("expected a whole number, found {}", value));
  // Doubles hold every integer of the ranges used here (|x| <= 2^53); larger ones are out anyway.
  const bool exact = !node_->is_number_float() && std::abs(value) < 9e15;
  const std::int64_t whole = exact ? node_->get<std::int64_t>()
                                   : static_cast<std::int64_t>(std::clamp(value, -9e15, 9e15));
  if (whole < low || whole > high || std::abs(value) > 9e15) {
    return error(fmt::format("{} is outside {} to {}", value, low, high));
  }
  return whole;
}

template <typename Q>
Result<Q> JsonView::quantity() const {
  if (!node_->is_string()) {
    return error(fmt::format("expected a string with a unit, found {}", kind_of(*node_)),
                 "quantities are written like \"1555 GB/s\"");
  }
  auto value = parse_quantity<Q>(node_->get_ref<const std::string&>());
  if (!value) return error(value.error().message, value.error().hint);
  if (value->base() < 0) return error("must not be negative");
  return *value;
}
template Result<Bytes> JsonView::quantity<Bytes>() const;
template Result<BytesPerSecond> JsonView::quantity<BytesPerSecond>() const;
template Result<FlopsPerSecond> JsonView::quantity<FlopsPerSecond>() const;
template Result<Hertz> JsonView::quantity<Hertz>() const;
template Result<Seconds> JsonView::quantity<Seconds>() const;
template Result<Cycles> JsonView::quantity<Cycles>() const;
template Result<BytesPerCycle> JsonView::quantity<BytesPerCycle>() const;
template Result<FlopsPerCycle> JsonView::quantity<FlopsPerCycle>() const;

Status JsonView::expect_keys(std::span<const std::string_view> known) const {
  if (!node_->is_object()) return wrong_type("an object");
  for (const auto& [key, value] : node_->items()) {
    if (std::find(known.begin(), known.end(), key) != known.end()) continue;
    return child(value, key)
        .error(fmt::format("unknown key \"{}\"", printable(key)),
               did_you_mean(key, known, "known keys are"));
  }
  return {};
}

}  // namespace rooftile
