// SPDX-License-Identifier: Apache-2.0
//
// Lowers one operator in a few words, for the tests of this folder.
#pragma once

#include "ops/any_op.h"

namespace rooftile::ops {

inline KernelList forward_of(const AnyOp& op, DType dtype = DType::Fp32) {
  KernelList kernels;
  forward(op, {.precision = precision_of(dtype), .input_gradient = true}, kernels);
  return kernels;
}

inline KernelList backward_of(const AnyOp& op, DType dtype = DType::Fp32) {
  KernelList kernels;
  backward(op, {.precision = precision_of(dtype), .input_gradient = true}, kernels);
  return kernels;
}

inline KernelList accumulate_of(const AnyOp& op, DType dtype = DType::Fp32) {
  KernelList kernels;
  accumulate(op, {.precision = precision_of(dtype), .input_gradient = true}, kernels);
  return kernels;
}

inline std::string message_of(const AnyOp& op) {
  const Status status = check(op);
  return status.has_value() ? "ok" : status.error().message;
}

}  // namespace rooftile::ops
