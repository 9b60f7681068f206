// SPDX-License-Identifier: Apache-2.0
//
// A chain of vector operators compiled into one kernel (execution/fuse.h): the FLOPs of all of
// them, the bytes of the outer inputs and outputs only; what lies between stays in registers. At
// most one operator of the chain reduces rows (softmax or a norm), and decides the kernel's class.
#pragma once

#include "ops/operator.h"

namespace rooftile::ops {

struct FusedVector {
  static constexpr std::string_view kName = "fused";
  Shape shape;
  KernelClass kind = KernelClass::Pointwise;  ///< Pointwise, Softmax or Norm
  double flop_per_element = 1.0;
  std::int64_t inputs = 1;           ///< outer tensors that are read
  std::int64_t read = 1;             ///< elements of all of them
  std::int64_t written = 1;          ///< elements of all outputs
  std::int64_t parameter_count = 0;  ///< of norms in the chain

  [[nodiscard]] Status check() const;
  [[nodiscard]] Shape output() const { return shape; }
  [[nodiscard]] std::int64_t parameters() const { return parameter_count; }
  /// Recomputing the chain from its inputs is what compilers do: only these are kept.
  [[nodiscard]] Saved saved(const LowerContext&) const {
    return {.inputs = (std::uint32_t{1} << std::min<std::int64_t>(inputs, 31)) - 1,
            .output = false,
            .extra = {}};
  }
  void forward(const LowerContext& context, KernelList& kernels) const;
  /// One kernel again: reads the inputs and the gradient, writes the gradients of the inputs.
  void backward(const LowerContext& context, KernelList& kernels) const;
  void accumulate(const LowerContext& context, KernelList& kernels) const;
  bool operator==(const FusedVector&) const = default;
};

}  // namespace rooftile::ops
