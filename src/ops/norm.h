// SPDX-License-Identifier: Apache-2.0
//
// Normalisation: layer norm and RMS norm over rows, batch norm over the channels of an image. Rows
// take one pass over the data (their statistics stay on chip); a layer norm takes 6 FLOP per
// element [Lee25], an RMS norm 4 (square, sum, scale, weight). Backward of a layer norm is one
// product over the rows, as in [Lee25]; the parameters' gradients are folded into it.
#pragma once

#include "ops/operator.h"

namespace rooftile::ops {

struct LayerNorm {
  static constexpr std::string_view kName = "layer_norm";
  Shape shape;
  bool bias = true;

  [[nodiscard]] Status check() const { return check_shape("layer norm", shape); }
  [[nodiscard]] Shape output() const { return shape; }
  [[nodiscard]] std::int64_t parameters() const { return shape.columns() * (bias ? 2 : 1); }
  [[nodiscard]] Saved saved(const LowerContext& context) const;
  void forward(const LowerContext& context, KernelList& kernels) const;
  void backward(const LowerContext& context, KernelList& kernels) const;
  void accumulate(const LowerContext& context, KernelList& kernels) const;
  bool operator==(const LayerNorm&) const = default;
};

struct RmsNorm {
  static constexpr std::string_view kName = "rms_norm";
  Shape shape;

  [[nodiscard]] Status check() const { return check_shape("RMS norm", shape); }
  [[nodiscard]] Shape output() const { return shape; }
  [[nodiscard]] std::int64_t parameters() const { return shape.columns(); }
  [[nodiscard]] Saved saved(const LowerContext& context) const;
  void forward(const LowerContext& context, KernelList& kernels) const;
  void backward(const LowerContext& context, KernelList& kernels) const;
  void accumulate(const LowerContext& context, KernelList& kernels) const;
  bool operator==(const RmsNorm&) const = default;
};

/// Input n x c x (spatial); in training the statistics cost a second read of the input.
struct BatchNorm {
  static constexpr std::string_view kName = "batch_norm";
  std::int64_t n = 1, c = 1, spatial = 1;
  Shape shape;  ///< of input and output, n x c x h x w; informative
  bool training = false;
  static constexpr double kScaleFlop = 2.0;  ///< one multiply-add with the folded scale and shift
  /// Mean, variance, weight and bias of every channel.
  [[nodiscard]] std::int64_t constants() const { return 4 * c; }

  [[nodiscard]] Status check() const { return check_sizes("batch norm", {n, c, spatial}); }
  [[nodiscard]] Shape output() const { return shape.rank() == 0 ? Shape{n, c, spatial} : shape; }
  [[nodiscard]] std::int64_t parameters() const { return 2 * c; }
  [[nodiscard]] Saved saved(const LowerContext& context) const;
  void forward(const LowerContext& context, KernelList& kernels) const;
  void backward(const LowerContext& context, KernelList& kernels) const;
  void accumulate(const LowerContext& context, KernelList& kernels) const;
  bool operator==(const BatchNorm&) const = default;
};

}  // namespace rooftile::ops
