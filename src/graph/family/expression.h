// SPDX-License-Identifier: Apache-2.0
//
// The expressions of family files (docs/format/family.md): numbers, texts, lists and names,
// combined by arithmetic, comparison, `and`, `or`, `not` and `condition ? a : b`. They are
// evaluated on untrusted numbers, so whole numbers overflow into an error and never wrap.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/result.h"

namespace rooftile::graph {

class Value;
using List = std::vector<Value>;

/// What an expression gives. Nothing (null) stands for a key that is absent.
class Value {
 public:
  Value() = default;
  Value(bool value) : value_(value) {}                    // NOLINT(google-explicit-constructor)
  Value(std::int64_t value) : value_(value) {}            // NOLINT(google-explicit-constructor)
  Value(double value) : value_(value) {}                  // NOLINT(google-explicit-constructor)
  Value(std::string value) : value_(std::move(value)) {}  // NOLINT(google-explicit-constructor)
  Value(List value) : value_(std::move(value)) {}         // NOLINT(google-explicit-constructor)

  [[nodiscard]] bool is_null() const { return std::holds_alternative<std::monostate>(value_); }
  [[nodiscard]] const bool* boolean() const { return std::get_if<bool>(&value_); }
  [[nodiscard]] const std::int64_t* integer() const { return std::get_if<std::int64_t>(&value_); }
  [[nodiscard]] const std::string* text() const { return std::get_if<std::string>(&value_); }
  [[nodiscard]] const List* list() const { return std::get_if<List>(&value_); }
  [[nodiscard]] bool is_number() const {
    return std::holds_alternative<std::int64_t>(value_) || std::holds_alternative<double>(value_);
  }
  /// Of a number; 0 for everything else.
  [[nodiscard]] double number() const;
  /// False for null, false, 0, an empty text and an empty list.
  [[nodiscard]] bool truth() const;
  /// As messages write it: 4096, true, silu, [1, 2], null.
  [[nodiscard]] std::string printed() const;
  bool operator==(const Value& other) const;
  /// An order for maps; says nothing about the size of different kinds.
  bool operator<(const Value& other) const;

 private:
  std::variant<std::monostate, bool, std::int64_t, double, std::string, List> value_;
};

/// Where names get their values.
class Scope {
 public:
  virtual ~Scope() = default;
  /// An error for a name that does not exist.
  [[nodiscard]] virtual Result<Value> value_of(std::string_view name) const = 0;
};

/// Errors have no `where`; the caller adds the place of the text.
Result<Value> evaluate(std::string_view expression, const Scope& scope);

/// Only the syntax, for files that are checked without a configuration.
Status check_expression(std::string_view expression);

}  // namespace rooftile::graph
