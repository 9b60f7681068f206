// SPDX-License-Identifier: Apache-2.0
//
// The nodes of one block of a template: which are made under the given names, what they read, and
// what they leave behind (caches, states, parameters that the step does not run).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "core/shape.h"
#include "graph/family/config_scope.h"
#include "graph/family/template_ops.h"
#include "graph/graph.h"
#include "graph/import/transformer.h"
#include "graph/import_model.h"

namespace rooftile::graph {

class BlockTemplate {
 public:
  enum class Aside : std::uint8_t {
    No,     ///< the step runs it
    Idle,   ///< in memory, but not run
    Apart,  ///< only counted
  };

  BlockTemplate(ConfigScope& scope, const ImportOptions& options, std::string model)
      : scope_(scope), options_(options), model_(std::move(model)) {}

  Result<Block> build(const JsonView& view, const std::string& name, std::int64_t repeat,
                      Aside aside);
  /// "{kinds > 1 ? 'a' : 'b'}_layer": expressions in braces are replaced by their values.
  [[nodiscard]] Result<std::string> interpolated(const JsonView& view) const;
  [[nodiscard]] std::int64_t idle_parameters() const { return idle_; }
  std::optional<KvCache> take_cache() { return std::move(cache_); }

 private:
  /// A tensor while the block is being built.
  struct Tensor {
    Shape shape;
    bool gradient = false;  ///< a parameter is upstream
  };
  struct Site {  ///< where nodes are being added: a block, or a part within it
    std::string prefix;
    std::map<std::string, std::string, std::less<>> labels;
    std::string x;  ///< what a node without "inputs" reads; empty at the start of the model
  };

  Status add_nodes(const JsonView& list, Site& site);
  Status add_node(const JsonView& view, Site& site);
  Status add_op(const JsonView& view, Site& site);
  Status use_part(const JsonView& view, Site& site);
  Status add_attention_part(const JsonView& view, Site& site);
  Status add_activation_part(const JsonView& view, Site& site);
  [[nodiscard]] Result<AttentionSpec> attention_spec(const Fields& fields) const;
  [[nodiscard]] Result<TokenCounts> attention_tokens(const Fields& fields,
                                                     const AttentionSpec& spec) const;
  /// `latent` elements per token, or the keys and values themselves for 0.
  void remember_cache(const AttentionSpec& spec, const TokenCounts& tokens, std::int64_t latent,
                      std::int64_t kept);
  void remember_state(const ops::AnyOp& op);
  [[nodiscard]] std::string resolved(std::string_view name, const Site& site) const;
  [[nodiscard]] Result<std::vector<std::string>> inputs(const JsonView& view,
                                                        const Site& site) const;
  [[nodiscard]] Result<Tensor> tensor(const JsonView& where, const std::string& name) const;
  Result<std::string> full_name(const JsonView& view, const Site& site) const;
  Status finish_node(const JsonView& view, Node& node) const;
  /// Nodes that transformer.h has added since `first`.
  Status adopt(std::size_t first);
  Status leave(const JsonView& view, const std::string& output, Site& site) const;
  [[nodiscard]] KvCache& cache();

  ConfigScope& scope_;
  const ImportOptions& options_;
  std::string model_;
  std::optional<BlockBuilder> block_;
  std::string name_;
  std::int64_t repeat_ = 1;
  Aside aside_ = Aside::No;
  std::size_t depth_ = 0;
  std::map<std::string, Tensor, std::less<>> local_;
  std::map<std::string, Tensor, std::less<>> published_;  ///< "block.node" of earlier blocks
  std::optional<Tensor> entry_;                           ///< what "input" means
  std::optional<Tensor> idle_entry_;                      ///< the same in blocks that are not run
  std::int64_t idle_ = 0;
  std::optional<KvCache> cache_;
};

}  // namespace rooftile::graph
