// SPDX-License-Identifier: Apache-2.0
//
// The operators of family files (docs/format/family.md): each is made from its fields, which are
// expressions, and the shapes of its inputs. A new one is a function and a line in the table of
// template_ops.cpp.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/json.h"
#include "core/result.h"
#include "core/shape.h"
#include "graph/family/config_scope.h"
#include "ops/any_op.h"

namespace rooftile::graph {

/// The fields of one node of a template.
class Fields {
 public:
  Fields(JsonView node, const ConfigScope& scope) : node_(std::move(node)), scope_(scope) {}

  [[nodiscard]] const JsonView& node() const { return node_; }
  [[nodiscard]] const ConfigScope& scope() const { return scope_; }
  [[nodiscard]] bool has(std::string_view key) const { return node_.find(key).has_value(); }
  [[nodiscard]] Result<std::int64_t> size(std::string_view key) const;
  [[nodiscard]] Result<std::int64_t> size_or(std::string_view key, std::int64_t fallback) const;
  /// 0 is allowed.
  [[nodiscard]] Result<std::int64_t> count_or(std::string_view key, std::int64_t fallback) const;
  [[nodiscard]] Result<bool> flag(std::string_view key, bool fallback) const;
  [[nodiscard]] Result<std::string> text(std::string_view key, std::string_view fallback) const;
  [[nodiscard]] Result<Shape> shape(std::string_view key, const Shape& fallback) const;
  /// A size of the request or of a "let": batch, queries, keys.
  [[nodiscard]] Result<std::int64_t> named(std::string_view name) const;

 private:
  JsonView node_;
  const ConfigScope& scope_;
};

struct TemplateCall {
  const Fields& fields;
  std::span<const Shape> inputs;
  /// The shape of the first input, or the field "shape".
  [[nodiscard]] Result<Shape> shape() const;
};

struct MadeOp {
  ops::AnyOp op;
  Shape output;  ///< as the next nodes see it
};

struct TemplateOp {
  std::string_view name;
  std::span<const std::string_view> keys;  ///< its fields, in addition to those of every node
  Result<MadeOp> (*make)(const TemplateCall& call) = nullptr;
};

std::span<const TemplateOp> template_ops();

}  // namespace rooftile::graph
