// SPDX-License-Identifier: Apache-2.0
//
// Two-dimensional convolution: grouped, depthwise (groups = c), strided, dilated, transposed. FLOPs
// are those of the direct algorithm, 2 n k p q (c / groups) r s; Winograd or FFT kernels do fewer.
// A transposed convolution is described by the shape of its mirror image (the convolution whose
// data gradient it is): `conv` maps the transposed output to the transposed input, and the passes
// change places.
#pragma once

#include "ops/operator.h"

namespace rooftile::ops {

struct Conv2d {
  static constexpr std::string_view kName = "conv";
  ConvShape conv;  ///< its `pass` is set by the lowering
  bool bias = false;
  bool transposed = false;

  [[nodiscard]] Status check() const;
  [[nodiscard]] Shape output() const;
  [[nodiscard]] std::int64_t biases() const;
  [[nodiscard]] std::int64_t parameters() const;
  [[nodiscard]] Saved saved(const LowerContext&) const { return {.inputs = 1}; }
  void forward(const LowerContext& context, KernelList& kernels) const;
  void backward(const LowerContext& context, KernelList& kernels) const;
  void accumulate(const LowerContext& context, KernelList& kernels) const;
  bool operator==(const Conv2d&) const = default;
};

}  // namespace rooftile::ops
