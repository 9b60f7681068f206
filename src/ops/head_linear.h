// SPDX-License-Identifier: Apache-2.0
//
// One learned product per head: y[row, head, out] = x[row, head, in] W[head, in, out]. The absorbed
// projections of multi-head latent attention: queries are brought into the latent space and its
// results back to values, head by head, as one batched product.
#pragma once

#include "ops/operator.h"

namespace rooftile::ops {

struct HeadLinear {
  static constexpr std::string_view kName = "head_linear";
  std::int64_t rows = 1, heads = 1, in = 1, out = 1;

  [[nodiscard]] Status check() const;
  [[nodiscard]] Shape output() const { return {rows, heads, out}; }
  [[nodiscard]] std::int64_t parameters() const { return heads * in * out; }
  [[nodiscard]] Saved saved(const LowerContext&) const { return {.inputs = 1}; }
  void forward(const LowerContext& context, KernelList& kernels) const;
  void backward(const LowerContext& context, KernelList& kernels) const;
  void accumulate(const LowerContext& context, KernelList& kernels) const;
  bool operator==(const HeadLinear&) const = default;
};

}  // namespace rooftile::ops
