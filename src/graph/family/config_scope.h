// SPDX-License-Identifier: Apache-2.0
//
// The names of a family's expressions for one config.json: the family's values, each read from its
// key of the file or evaluated where it is first asked for, and above them what the request and the
// template bind (batch, queries, the kind of a layer).
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/json.h"
#include "graph/family/expression.h"
#include "graph/family/family.h"

namespace rooftile::graph {

/// What a reader of the report must know about the sizes of a file.
struct SizeNotes {
  std::vector<std::string> assumed;      ///< "hidden_size = 4096", not given by the file
  std::vector<std::string> implausible;  ///< "hidden_size = 4096000 (models have 1 to 65536)"
  std::vector<std::string> unread;       ///< keys of blocks that the family does not have
  /// One note each, named "sizes"; `config` is the class whose defaults were taken.
  [[nodiscard]] std::vector<std::string> notes(std::string_view config) const;
};

class ConfigScope : public Scope {
 public:
  /// Both outlive the scope.
  ConfigScope(const JsonView& config, const Family& family) : config_(config), family_(family) {}

  /// Binds a name above the family's values; a later binding hides an earlier one.
  void bind(std::string name, Value value) { frames_.back()[std::move(name)] = std::move(value); }
  void open() { frames_.emplace_back(); }
  void close() { frames_.pop_back(); }

  [[nodiscard]] Result<Value> value_of(std::string_view name) const override;
  /// Reads all keys in the order of the file, so that every mistake is found and the notes are in
  /// that order.
  Status read_all() const;
  /// An error when a key that the family reads is absent and an unknown one is nearly its name.
  Status check_spelling() const;

  /// Evaluates a member of a template: a text is an expression, everything else is itself.
  [[nodiscard]] Result<Value> evaluate(const JsonView& view) const;
  [[nodiscard]] Result<std::int64_t> integer(const JsonView& view, std::int64_t low,
                                             std::int64_t high) const;
  [[nodiscard]] Result<bool> truth(const JsonView& view) const;

  /// The place in the config that gave a value, or the config itself.
  [[nodiscard]] JsonView place_of(std::string_view value) const;
  [[nodiscard]] const JsonView& config() const { return config_; }
  [[nodiscard]] const Family& family() const { return family_; }
  [[nodiscard]] const SizeNotes& sizes() const { return sizes_; }

 private:
  struct Found {
    std::optional<JsonView> view;  ///< nothing when absent or null
    bool present = false;          ///< also when null
    std::string key;               ///< the name by which it is called in notes
  };
  [[nodiscard]] Result<Found> find_key(const JsonView& spec) const;
  [[nodiscard]] Result<std::vector<JsonView>> sections(const std::optional<JsonView>& in) const;
  [[nodiscard]] Result<Value> read_key(const JsonView& spec) const;
  [[nodiscard]] Result<Value> read_present(const JsonView& spec, const Found& found,
                                           std::string_view type) const;
  static Result<Value> read_each(const JsonView& each, const JsonView& field);
  [[nodiscard]] Result<Value> read_absent(const JsonView& spec, const Found& found,
                                          std::string_view type) const;

  const JsonView& config_;
  const Family& family_;
  std::vector<std::map<std::string, Value, std::less<>>> frames_{1};
  mutable std::map<std::string, Value, std::less<>> values_;
  mutable std::set<std::string, std::less<>> pending_;  ///< being evaluated: a cycle is an error
  mutable SizeNotes sizes_;
};

/// The member of a member: "text_config/vision". Nothing when a step is absent or null.
std::optional<JsonView> find_path(const JsonView& object, std::string_view path);

/// A JSON value as it stands: numbers, texts, true/false and lists of these.
Result<Value> literal(const JsonView& view);

}  // namespace rooftile::graph
