// SPDX-License-Identifier: Apache-2.0
//
// Attention as one fused kernel (scores never reach memory), and the rotary position embedding.
//
// FusedAttention: 2 * pairs * (key size + value size) FLOP per head, where `pairs` counts the
// query-key pairs that are not masked: exact for causal masks and sliding windows. Queries are the
// last `queries` of `keys` positions, so one query over a long cache (decode) and a full prompt
// (prefill) are the same formula. Softmax arithmetic is not counted, as usual for this kernel.
// Backward recomputes the scores and forms four products instead of two: 2.5 times the forward
// FLOPs.
#pragma once

#include "ops/operator.h"

namespace rooftile::ops {

/// Query-key pairs of one head that survive the causal mask and the sliding window.
double attention_pairs(const AttentionShape& shape);

struct FusedAttention {
  static constexpr std::string_view kName = "attention";
  AttentionShape shape;

  [[nodiscard]] Status check() const;
  [[nodiscard]] Shape output() const {
    return {shape.batch, shape.queries, shape.heads * shape.values()};
  }
  [[nodiscard]] std::int64_t parameters() const { return 0; }
  /// Queries, keys, values, the output, and one log-sum-exp per query and head.
  [[nodiscard]] Saved saved(const LowerContext& context) const;
  void forward(const LowerContext& context, KernelList& kernels) const;
  void backward(const LowerContext& context, KernelList& kernels) const;
  void accumulate(const LowerContext&, KernelList&) const {}
  bool operator==(const FusedAttention&) const = default;
};

/// Rotates queries and keys by their position: 3 FLOP per element (two products, one sum); the
/// table of sines and cosines is shared by all heads and sequences.
struct Rotary {
  static constexpr std::string_view kName = "rotary";
  std::int64_t batch = 1, tokens = 1, heads = 1, head_dim = 1;

  [[nodiscard]] Status check() const;
  [[nodiscard]] Shape output() const { return {batch, tokens, heads, head_dim}; }
  [[nodiscard]] std::int64_t parameters() const { return 0; }
  [[nodiscard]] Saved saved(const LowerContext&) const { return {}; }
  void forward(const LowerContext& context, KernelList& kernels) const;
  void backward(const LowerContext& context, KernelList& kernels) const;
  void accumulate(const LowerContext&, KernelList&) const {}
  bool operator==(const Rotary&) const = default;
};

}  // namespace rooftile::ops
