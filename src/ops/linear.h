// SPDX-License-Identifier: Apache-2.0
//
// Matrix products. Linear is y[rows, out] = x[rows, in] W[in, out] (+ bias) with a learned W;
// BatchedMatmul multiplies two activations. Backward of a product is two products: the gradient of
// the input, (rows, out) x (out, in), and that of the weight, (out, rows) x (rows, in). The sum of
// the output gradient over the rows (bias gradient) is fused into the latter and not counted.
#pragma once

#include "ops/operator.h"

namespace rooftile::ops {

struct Linear {
  static constexpr std::string_view kName = "linear";
  std::int64_t rows = 1, in = 1, out = 1;
  bool bias = true;

  [[nodiscard]] Status check() const;
  [[nodiscard]] Shape output() const { return {rows, out}; }
  [[nodiscard]] std::int64_t parameters() const { return in * out + (bias ? out : 0); }
  [[nodiscard]] Saved saved(const LowerContext&) const { return {.inputs = 1}; }
  void forward(const LowerContext& context, KernelList& kernels) const;
  void backward(const LowerContext& context, KernelList& kernels) const;
  void accumulate(const LowerContext& context, KernelList& kernels) const;
  bool operator==(const Linear&) const = default;
};

struct BatchedMatmul {
  static constexpr std::string_view kName = "bmm";
  std::int64_t batch = 1, m = 1, n = 1, k = 1;
  /// How many products share one right-hand operand (grouped-query attention reads each key and
  /// value head once for its group of query heads); 1 = none. Only the bytes depend on it.
  std::int64_t share = 1;
  /// Operands that are permuted views, and an output that is reshaped after a permutation: eager
  /// execution copies them (execution/eager.h); the product itself does not change.
  bool left_permuted = false, right_permuted = false, output_permuted = false;
  /// Elements of the right-hand operands that lie in a key/value cache: no kernel of this pass has
  /// touched them before.
  std::int64_t cached = 0;

  [[nodiscard]] Status check() const;
  [[nodiscard]] Shape output() const { return {batch, m, n}; }
  [[nodiscard]] std::int64_t parameters() const { return 0; }
  [[nodiscard]] Saved saved(const LowerContext&) const { return {.inputs = 3}; }
  void forward(const LowerContext& context, KernelList& kernels) const;
  void backward(const LowerContext& context, KernelList& kernels) const;
  void accumulate(const LowerContext&, KernelList&) const {}
  bool operator==(const BatchedMatmul&) const = default;
};

}  // namespace rooftile::ops
