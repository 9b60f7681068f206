// SPDX-License-Identifier: Apache-2.0
//
// A model family as data (data/families, docs/format/family.md): which keys of a config.json, with
// which aliases and defaults, give which sizes, and which blocks of operators these sizes make. A
// family may extend another one; what it states itself wins.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/catalog.h"
#include "core/json.h"
#include "core/result.h"
#include "rooftile/provenance.h"

namespace rooftile::graph {

/// Names with what a file says about them, in the order of their first appearance.
using NamedViews = std::vector<std::pair<std::string, JsonView>>;

class Family {
 public:
  /// The family "llama" and those that it extends.
  static Result<Family> load(const Catalog& catalog, std::string_view name);

  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] const std::vector<std::string>& model_types() const { return model_types_; }
  /// The member `key` of the family or of the nearest one it extends.
  [[nodiscard]] std::optional<JsonView> find(std::string_view key) const;
  /// The text of a member; empty where there is none.
  [[nodiscard]] Result<std::string> text(std::string_view key) const;
  /// The members of all objects `key` of the chain; the family's own hide those it extends.
  [[nodiscard]] const NamedViews& values() const { return values_; }
  [[nodiscard]] const NamedViews& per_layer() const { return per_layer_; }
  [[nodiscard]] std::optional<JsonView> part(std::string_view name) const;
  /// The elements of all lists `key`, those of the extended families first.
  [[nodiscard]] Result<std::vector<JsonView>> all(std::string_view key) const;
  /// The files it was read from, its own last.
  [[nodiscard]] const std::vector<Input>& inputs() const { return inputs_; }

  /// Everything that can be wrong with the files without a configuration: unknown keys, the syntax
  /// of expressions, parts that do not exist.
  [[nodiscard]] Status lint() const;

 private:
  Status read(const Catalog& catalog, std::string_view name, std::size_t depth);
  Result<NamedViews> merged(std::string_view key) const;

  std::string name_;
  std::vector<JsonDocument> chain_;  ///< the most general first
  std::vector<std::string> model_types_;
  NamedViews values_, per_layer_, parts_;
  std::vector<Input> inputs_;
};

/// All families of a catalogue; each is read once.
class Families {
 public:
  explicit Families(const Catalog& catalog) : catalog_(&catalog) {}

  /// The family of a "model_type"; nothing when none has it.
  Result<std::shared_ptr<const Family>> find(std::string_view model_type);
  Result<std::shared_ptr<const Family>> load(const std::string& name);
  /// Names of all files in families/.
  [[nodiscard]] std::vector<std::string> names() const;
  /// All model types, sorted.
  Result<std::vector<std::string>> model_types();

 private:
  Status read_types();

  const Catalog* catalog_;
  std::map<std::string, std::shared_ptr<const Family>, std::less<>> loaded_;
  std::map<std::string, std::string, std::less<>> types_;  ///< family of each type, once asked for
};

/// Checks every family and that no two of them claim one model type.
Status lint_families(const Catalog& catalog);

}  // namespace rooftile::graph
