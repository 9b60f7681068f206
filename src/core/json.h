// SPDX-License-Identifier: Apache-2.0
//
// Reading JSON with locations. A JsonView is a cursor into a parsed document that knows its file
// and JSON pointer, so that every error says where: `x.json:/memory/dram: missing key "size"`.
// Untrusted input is safe: nesting, size and duplicate keys are checked while parsing.
// Writing JSON is the report layer's business and uses nlohmann/json directly.
#pragma once

#include <cstdint>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/result.h"
#include "core/text.h"

namespace rooftile {

class JsonView {
 public:
  /// `file:/pointer`, for error messages.
  [[nodiscard]] std::string where() const;
  [[nodiscard]] const std::string& pointer() const { return pointer_; }

  [[nodiscard]] bool is_object() const;
  [[nodiscard]] bool is_array() const;
  [[nodiscard]] bool is_string() const;
  [[nodiscard]] bool is_number() const;
  [[nodiscard]] bool is_boolean() const;

  /// The member `key`; an error with a suggestion when it is missing or null.
  [[nodiscard]] Result<JsonView> at(std::string_view key) const;
  /// True when there is a member `key`, also with the value null.
  [[nodiscard]] bool contains(std::string_view key) const;
  /// The member `key`, or nothing when this is not an object or the member is missing or null.
  [[nodiscard]] std::optional<JsonView> find(std::string_view key) const;
  /// All members in file order (objects) or all elements (arrays); an error for the other kinds.
  [[nodiscard]] Result<std::vector<std::pair<std::string, JsonView>>> members() const;
  [[nodiscard]] Result<std::vector<JsonView>> elements() const;

  [[nodiscard]] Result<std::string> string() const;
  [[nodiscard]] Result<bool> boolean() const;
  [[nodiscard]] Result<double> number() const;
  /// A whole number in [low, high]; 12.0 is accepted, 12.5 and "12" are not.
  [[nodiscard]] Result<std::int64_t> integer(std::int64_t low, std::int64_t high) const;
  /// A string with a unit of the right dimension, as in "1555 GB/s"; must not be negative.
  template <typename Q>
  [[nodiscard]] Result<Q> quantity() const;

  /// Fails on the first member that is not in `known`, naming the nearest valid key.
  [[nodiscard]] Status expect_keys(std::span<const std::string_view> known) const;

  /// An error that points here.
  [[nodiscard]] tl::unexpected<Error> error(std::string message, std::string hint = {}) const;
  [[nodiscard]] tl::unexpected<Error> unsupported(std::string message, std::string hint = {}) const;

 private:
  friend class JsonDocument;
  JsonView(const std::string* file, const nlohmann::ordered_json* node, std::string pointer)
      : file_(file), node_(node), pointer_(std::move(pointer)) {}
  [[nodiscard]] JsonView child(const nlohmann::ordered_json& node, std::string_view key) const;
  [[nodiscard]] tl::unexpected<Error> wrong_type(std::string_view expected) const;

  const std::string* file_;
  const nlohmann::ordered_json* node_;
  std::string pointer_;
};

/// Limits for untrusted documents.
struct JsonLimits {
  std::size_t max_depth = 128;        ///< nesting of arrays and objects
  std::size_t max_bytes = 256 << 20;  ///< size of the text
};

/// Owns a parsed document; views into it stay valid while it lives, also when it is moved.
class JsonDocument {
 public:
  /// `name` is what errors call the document, usually the path as the user wrote it.
  static Result<JsonDocument> parse(std::string_view text, std::string name,
                                    const JsonLimits& limits = {});
  JsonDocument(JsonDocument&&) noexcept;
  JsonDocument& operator=(JsonDocument&&) noexcept;
  JsonDocument(const JsonDocument&) = delete;
  JsonDocument& operator=(const JsonDocument&) = delete;
  ~JsonDocument();

  [[nodiscard]] JsonView root() const;

 private:
  struct Content;
  explicit JsonDocument(std::unique_ptr<Content> content);
  std::unique_ptr<Content> content_;
};

}  // namespace rooftile
