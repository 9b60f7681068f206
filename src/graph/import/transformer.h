// SPDX-License-Identifier: Apache-2.0
//
// Building stones of transformer graphs, shared by the families: a builder that appends nodes to a
// block, attention (eager or fused) and activations, in the kernels that an eager framework
// launches. What differs between families (how scores are scaled and masked, which copies are made)
// is a field of AttentionSpec, not a second implementation.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/json.h"
#include "core/result.h"
#include "graph/graph.h"
#include "graph/import_model.h"

namespace rooftile::graph {

/// Token counts of one step, from the options and the model's longest sequence.
struct TokenCounts {
  std::int64_t batch = 1;
  std::int64_t queries = 1;  ///< tokens per sequence that pass through the layers
  std::int64_t keys = 1;     ///< tokens that attention sees: queries plus the cache
  bool train = false;
  bool cached = false;  ///< prefill and decode keep a key/value cache
  [[nodiscard]] std::int64_t rows() const { return batch * queries; }
};
/// `longest` is the model's own limit; a longer request is an error unless `longest` is 0.
Result<TokenCounts> token_counts(const ImportOptions& options, std::int64_t longest,
                                 std::string_view model);

/// Refuses steps whose largest tensors would exceed Shape::kMaxElements, before the importers form
/// products of these sizes: activations (rows x widest), scores (heads x queries x keys).
struct StepSizes {
  std::int64_t heads = 1;
  std::int64_t keys = 1;    ///< the longest that attention sees
  std::int64_t widest = 1;  ///< the widest activation of a token: vocabulary, MLP, heads
  std::int64_t copies = 1;  ///< experts per token
};
Status check_step_sizes(const TokenCounts& tokens, const StepSizes& sizes, std::string_view model);

class BlockBuilder {
 public:
  explicit BlockBuilder(std::string name, std::int64_t repeat) {
    block_.name = std::move(name);
    block_.repeat = repeat;
  }

  /// Appends a node and returns its name.
  std::string add(std::string name, ops::AnyOp op, std::vector<std::string> inputs);
  void add(Node node) { block_.nodes.push_back(std::move(node)); }
  /// As add(); the node takes part in no backward pass (masks, positions, caches).
  std::string add_constant(std::string name, ops::AnyOp op, std::vector<std::string> inputs);
  Node& last() { return block_.nodes.back(); }
  Node& node(std::size_t index) { return block_.nodes[index]; }
  [[nodiscard]] std::size_t size() const { return block_.nodes.size(); }
  Block take() && { return std::move(block_); }

 private:
  Block block_;
};

/// Element-wise nodes in one line each.
ops::AnyOp unary(ops::Function function, const Shape& shape);
ops::AnyOp scalar(ops::Function function, const Shape& shape);
ops::AnyOp binary(ops::Function function, const Shape& shape);
/// The second operand has `second` elements and, where `gradient` is false, is constant.
ops::AnyOp broadcast(ops::Function function, const Shape& shape, std::int64_t second,
                     bool gradient);

enum class ScoreScale : std::uint8_t {
  None,        ///< scaled elsewhere, or not at all (T5)
  ByScalar,    ///< scores / number
  ByTensor,    ///< scores / one-element tensor
  Multiplied,  ///< scores * number
};
enum class ScoreMask : std::uint8_t {
  None,
  Where,  ///< where(mask, scores, -inf), one queries x keys mask
  Add,    ///< scores + mask
};

struct AttentionSpec {
  std::int64_t heads = 1, kv_heads = 1, head_dim = 1;
  bool causal = true;
  std::int64_t window = 0;  ///< sliding window, 0 = full
  ScoreScale scale = ScoreScale::ByScalar;
  ScoreMask mask = ScoreMask::None;
  std::int64_t mask_elements = 0;  ///< of an added mask
  bool mask_gradient = false;      ///< a learned position bias is added
  bool dropout = false;
  bool contiguous = true;      ///< the output is copied back to batch x token x head order
  std::int64_t value_dim = 0;  ///< 0 = head_dim
  bool latent = false;         ///< the values are the first columns of the keys
  bool floor = false;  ///< masked scores are raised to the smallest number (unfused attention)
  bool sinks = false;  ///< every head has a learned score that no value belongs to
  [[nodiscard]] ops::AttentionShape shape(const TokenCounts& tokens) const;
};

/// Appends attention over the given queries, keys and values; returns the name of its output of
/// batch x queries x (heads * head_dim).
struct AttentionInputs {
  std::string query, key, value;
};
std::string add_attention(BlockBuilder& block, const TokenCounts& tokens, AttentionKind kind,
                          const AttentionSpec& spec, const AttentionInputs& inputs,
                          const std::string& prefix);

/// Appends an activation by its Hugging Face name (gelu, gelu_new, relu, silu, ...); an unknown one
/// is an error `at` the place that names it.
Status check_activation(const JsonView& at, std::string_view name);
std::string add_activation(BlockBuilder& block, std::string_view name, const Shape& shape,
                           const std::string& input, const std::string& prefix);

/// Dropout in training when `active`, else the input itself.
std::string add_dropout(BlockBuilder& block, const TokenCounts& tokens, bool active,
                        const Shape& shape, const std::string& input, std::string name);

}  // namespace rooftile::graph
