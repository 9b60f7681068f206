// SPDX-License-Identifier: Apache-2.0
#include "graph/import/native_fields.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <vector>

#include "core/text.h"

namespace rooftile::graph {

namespace {

constexpr std::size_t kMaxName = 100;
constexpr std::size_t kMaxDimension = 200;

bool is_name_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '-' || c == '.';
}

Result<std::int64_t> factor(const JsonView& value, std::string_view text, const Symbols& symbols) {
  if (const auto number = parse_int(text)) return *number;
  if (const auto symbol = symbols.find(text); symbol != symbols.end()) return symbol->second;
  std::vector<std::string_view> names;
  for (const auto& [name, size] : symbols) names.push_back(name);
  return value.error(fmt::format("unknown symbol \"{}\"", printable(text)),
                     text == "seq"
                         ? "add \"max_sequence\" to the graph to use \"seq\""
                         : did_you_mean(text, names, "a size is a product of numbers and of"));
}

Result<std::int64_t> product(const JsonView& value, const Symbols& symbols) {
  ROOFTILE_TRY(const std::string text, value.string());
  if (text.size() > kMaxDimension) {
    return value.error(fmt::format("the size has {} characters", text.size()),
                       fmt::format("up to {} characters", kMaxDimension));
  }
  std::int64_t result = 1;
  for (const std::string_view part : split(text, '*')) {
    ROOFTILE_TRY(const std::int64_t number, factor(value, trim(part), symbols));
    if (__builtin_mul_overflow(result, number, &result)) {
      return value.error(fmt::format("the product \"{}\" is too large", printable(text)),
                         fmt::format("up to {}", kMaxNativeSize));
    }
  }
  return result;
}

}  // namespace

bool is_native_name(std::string_view text) {
  return !text.empty() && text.size() <= kMaxName &&
         std::all_of(text.begin(), text.end(), is_name_character);
}

Result<std::string> native_name(const JsonView& value) {
  ROOFTILE_TRY(std::string name, value.string());
  if (is_native_name(name)) return name;
  return value.error(fmt::format("\"{}\" is not a valid name", printable(name)),
                     std::string(kNativeNameHint));
}

Result<std::int64_t> native_size(const JsonView& value, const Symbols& symbols, SizeRange range) {
  if (!value.is_string()) return value.integer(range.low, range.high);
  ROOFTILE_TRY(const std::int64_t size, product(value, symbols));
  if (size < range.low || size > range.high) {
    ROOFTILE_TRY(const std::string text, value.string());
    return value.error(fmt::format("\"{}\" is {}, outside {} to {}", printable(text), size,
                                   range.low, range.high));
  }
  return size;
}

Result<Shape> native_shape(const JsonView& value, const Symbols& symbols) {
  ROOFTILE_TRY(const auto elements, value.elements());
  if (elements.empty() || elements.size() > Shape::kMaxRank) {
    return value.error(fmt::format("the shape has {} sizes", elements.size()),
                       fmt::format("a shape has 1 to {} sizes", Shape::kMaxRank));
  }
  std::array<std::int64_t, Shape::kMaxRank> sizes{};
  for (std::size_t i = 0; i < elements.size(); ++i) {
    ROOFTILE_TRY(sizes[i], native_size(elements[i], symbols, {}));
  }
  const Shape shape(std::span<const std::int64_t>(sizes.data(), elements.size()));
  if (!checked_product(shape.sizes())) {
    return value.error(fmt::format("a tensor of {} is too large", to_string(shape)),
                       "a tensor may have up to 2^53 elements");
  }
  return shape;
}

JsonView NativeFields::at_or_node(std::string_view key) const {
  return node_.find(key).value_or(node_);
}

Result<std::int64_t> NativeFields::size(std::string_view key) const {
  ROOFTILE_TRY(const JsonView value, node_.at(key));
  return native_size(value, symbols_, {});
}

Result<std::int64_t> NativeFields::size_or(std::string_view key, std::int64_t fallback) const {
  return number_or(key, fallback, {});
}

Result<std::int64_t> NativeFields::number_or(std::string_view key, std::int64_t fallback,
                                             SizeRange range) const {
  const auto value = node_.find(key);
  return value ? native_size(*value, symbols_, range) : Result<std::int64_t>(fallback);
}

Result<bool> NativeFields::flag(std::string_view key, bool fallback) const {
  const auto value = node_.find(key);
  return value ? value->boolean() : Result<bool>(fallback);
}

Result<Pair> NativeFields::pair(std::string_view key, std::optional<Pair> fallback,
                                SizeRange range) const {
  const auto found = node_.find(key);
  if (!found && fallback) return *fallback;
  ROOFTILE_TRY(const JsonView value, node_.at(key));
  if (!value.is_array()) {
    ROOFTILE_TRY(const std::int64_t both, native_size(value, symbols_, range));
    return Pair{.h = both, .w = both};
  }
  ROOFTILE_TRY(const auto elements, value.elements());
  if (elements.size() != 2) {
    return value.error(fmt::format("the list has {} numbers", elements.size()),
                       "write one number for both axes or [height, width]");
  }
  Pair pair;
  ROOFTILE_TRY(pair.h, native_size(elements[0], symbols_, range));
  ROOFTILE_TRY(pair.w, native_size(elements[1], symbols_, range));
  return pair;
}

Result<std::size_t> NativeFields::axis(std::string_view key, std::int64_t fallback,
                                       std::size_t rank) const {
  const auto axes = static_cast<std::int64_t>(rank);
  const JsonView where = at_or_node(key);
  std::int64_t axis = fallback;
  if (const auto value = node_.find(key)) {
    ROOFTILE_TRY(axis, value->integer(-kMaxNativeSize, kMaxNativeSize));
  }
  if (axis < -axes || axis >= axes) {
    return where.error(fmt::format("there is no axis {}: the tensor has {} axes", axis, axes),
                       fmt::format("{} to {}", -axes, axes - 1));
  }
  return static_cast<std::size_t>(axis < 0 ? axis + axes : axis);
}

}  // namespace rooftile::graph
