// SPDX-License-Identifier: Apache-2.0
//
// Reads the fields of a native graph (docs/format/graph.md). A size is a whole number, or a product
// of whole numbers and symbols in a string: 64, "batch", "2*batch*seq". Every error points at the
// value with its file and JSON pointer.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "core/json.h"
#include "core/result.h"
#include "core/shape.h"

namespace rooftile::graph {

/// Symbol -> value: "batch", "seq" and those of the file.
using Symbols = std::map<std::string, std::int64_t, std::less<>>;

/// Sizes beyond this are mistakes; products of two of them stay in range.
inline constexpr std::int64_t kMaxNativeSize = std::int64_t{1} << 31;
/// Sides of filters and windows, strides, paddings, dilations.
inline constexpr std::int64_t kMaxNativeExtent = 65536;

/// Names of nodes, blocks, inputs and symbols: 1 to 100 letters, digits, '_', '-' and '.'.
bool is_native_name(std::string_view text);
inline constexpr std::string_view kNativeNameHint = "1 to 100 letters, digits, '_', '-' and '.'";
Result<std::string> native_name(const JsonView& value);

struct SizeRange {
  std::int64_t low = 1, high = kMaxNativeSize;
};
/// A size or a product of symbols, within `range`.
Result<std::int64_t> native_size(const JsonView& value, const Symbols& symbols, SizeRange range);
/// A list of 1 to 6 sizes.
Result<Shape> native_shape(const JsonView& value, const Symbols& symbols);

/// Two numbers for the two axes of an image.
struct Pair {
  std::int64_t h = 1, w = 1;
};

/// The fields of one node.
class NativeFields {
 public:
  NativeFields(JsonView node, const Symbols& symbols) : node_(std::move(node)), symbols_(symbols) {}

  [[nodiscard]] const JsonView& node() const { return node_; }
  [[nodiscard]] const Symbols& symbols() const { return symbols_; }
  /// The field, or the node where it is absent: what an error about it points at.
  [[nodiscard]] JsonView at_or_node(std::string_view key) const;

  [[nodiscard]] Result<std::int64_t> size(std::string_view key) const;
  [[nodiscard]] Result<std::int64_t> size_or(std::string_view key, std::int64_t fallback) const;
  /// As size_or with a range of its own.
  [[nodiscard]] Result<std::int64_t> number_or(std::string_view key, std::int64_t fallback,
                                               SizeRange range) const;
  [[nodiscard]] Result<bool> flag(std::string_view key, bool fallback) const;
  /// One number for both axes, or a list [height, width]; without a fallback it must be present.
  [[nodiscard]] Result<Pair> pair(std::string_view key, std::optional<Pair> fallback,
                                  SizeRange range) const;
  /// An axis of a tensor of `rank` axes; negative ones count from the end.
  [[nodiscard]] Result<std::size_t> axis(std::string_view key, std::int64_t fallback,
                                         std::size_t rank) const;

 private:
  JsonView node_;
  const Symbols& symbols_;
};

}  // namespace rooftile::graph
