// SPDX-License-Identifier: Apache-2.0
//
// A mixture of experts beyond its router's linear layer: MoeRouting picks the top-k experts of each
// token and brings tokens to experts and back; ExpertLinear is one linear layer of all experts,
// each seeing its share of the tokens. Only the experts that are touched are read: where the number
// of experts per token is known, as many as uniform routing hits on average, E (1 - (1 - k/E)^n) of
// E experts with n tokens of k each; else the slots are assumed to fall on different experts.
#pragma once

#include "ops/operator.h"

namespace rooftile::ops {

enum class RoutingStep : std::uint8_t {
  Select,    ///< softmax over the experts and top-k
  Dispatch,  ///< rows of tokens gathered in the order of their experts
  Combine    ///< weighted sum of the k expert outputs of each token
};

struct MoeRouting {
  static constexpr std::string_view kName = "moe_routing";
  RoutingStep step = RoutingStep::Select;
  std::int64_t tokens = 1, experts = 1, top_k = 1, width = 1;
  std::int64_t own = 0;  ///< token slots of this GPU where others have the rest; 0 = all

  [[nodiscard]] std::int64_t slots() const { return own > 0 ? own : tokens * top_k; }
  [[nodiscard]] Status check() const;
  [[nodiscard]] Shape output() const;
  [[nodiscard]] std::int64_t parameters() const { return 0; }
  [[nodiscard]] Saved saved(const LowerContext& context) const;
  void forward(const LowerContext& context, KernelList& kernels) const;
  void backward(const LowerContext& context, KernelList& kernels) const;
  void accumulate(const LowerContext&, KernelList&) const {}
  bool operator==(const MoeRouting&) const = default;
};

/// `slots` token slots (tokens x top_k) spread over `experts` experts of in x out each: one grouped
/// product, a batch of touched() products with rows() rows each.
struct ExpertLinear {
  static constexpr std::string_view kName = "expert_linear";
  std::int64_t slots = 1, experts = 1, in = 1, out = 1;
  bool bias = false;
  std::int64_t top_k = 0;  ///< experts per token; 0 = not known
  std::int64_t hit = 0;    ///< experts that are read; 0 = as slots and top_k say

  [[nodiscard]] std::int64_t touched() const;
  [[nodiscard]] std::int64_t rows() const { return (slots + touched() - 1) / touched(); }
  [[nodiscard]] Status check() const;
  [[nodiscard]] Shape output() const { return {slots, out}; }
  [[nodiscard]] std::int64_t parameters() const { return experts * (in * out + (bias ? out : 0)); }
  [[nodiscard]] Saved saved(const LowerContext&) const { return {.inputs = 1}; }
  void forward(const LowerContext& context, KernelList& kernels) const;
  void backward(const LowerContext& context, KernelList& kernels) const;
  void accumulate(const LowerContext& context, KernelList& kernels) const;
  bool operator==(const ExpertLinear&) const = default;
};

}  // namespace rooftile::ops
