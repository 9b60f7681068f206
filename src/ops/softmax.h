// SPDX-License-Identifier: Apache-2.0
//
// Softmax over the last dimension, 5 FLOP per element [Lee25]; backward multiplies by the gradient
// and normalises again. CrossEntropy is the fused log-softmax and negative log-likelihood of a
// language-model head: it reads the logits once and writes one loss per row; its backward reads the
// logits and writes their gradient.
#pragma once

#include "ops/operator.h"

namespace rooftile::ops {

struct Softmax {
  static constexpr std::string_view kName = "softmax";
  Shape shape;

  [[nodiscard]] Status check() const { return check_shape("softmax", shape); }
  [[nodiscard]] Shape output() const { return shape; }
  [[nodiscard]] std::int64_t parameters() const { return 0; }
  [[nodiscard]] Saved saved(const LowerContext&) const {
    return {.inputs = 0, .output = true, .extra = {}};
  }
  void forward(const LowerContext& context, KernelList& kernels) const;
  void backward(const LowerContext& context, KernelList& kernels) const;
  void accumulate(const LowerContext&, KernelList&) const {}
  bool operator==(const Softmax&) const = default;
};

struct CrossEntropy {
  static constexpr std::string_view kName = "cross_entropy";
  std::int64_t rows = 1, classes = 1;

  [[nodiscard]] Status check() const { return check_sizes("cross entropy", {rows, classes}); }
  [[nodiscard]] Shape output() const { return {1}; }
  [[nodiscard]] std::int64_t parameters() const { return 0; }
  [[nodiscard]] Saved saved(const LowerContext&) const { return {.inputs = 1}; }
  void forward(const LowerContext& context, KernelList& kernels) const;
  void backward(const LowerContext& context, KernelList& kernels) const;
  void accumulate(const LowerContext&, KernelList&) const {}
  bool operator==(const CrossEntropy&) const = default;
};

}  // namespace rooftile::ops
