// SPDX-License-Identifier: Apache-2.0
#include "ops/kernel_work.h"

namespace rooftile::ops {

std::string_view name_of(KernelClass kind) {
  switch (kind) {
    case KernelClass::Gemm: return "gemm";
    case KernelClass::BatchedGemm: return "bmm";
    case KernelClass::Conv: return "conv";
    case KernelClass::Pointwise: return "elementwise";
    case KernelClass::Softmax: return "softmax";
    case KernelClass::Norm: return "norm";
    case KernelClass::Reduction: return "reduction";
    case KernelClass::Gather: return "gather";
    case KernelClass::Move: return "move";
    case KernelClass::Attention: return "attention";
  }
  return "?";
}

}  // namespace rooftile::ops
