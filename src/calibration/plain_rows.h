// SPDX-License-Identifier: Apache-2.0
//
// The plain layout of timed kernels, which `rooftile calibrate --script` prints:
//
//   kernel,shape,dtype,latency_ms
//   gemm,4096x4096x4096,bf16,0.231            m x n x k, or batch x m x n x k
//   attention,8x32/8x1x4096x128,bf16,0.041    batch x heads/kv_heads x queries x keys x head size,
//                                             causal
//   softmax,8192x1024,fp32,0.082              rows x columns; also layernorm, rmsnorm and the
//                                             element-wise functions: add, gelu, ...
//
// Times are those of a kernel in a stream of its like, in milliseconds.
#pragma once

#include <string_view>

#include "core/result.h"
#include "ops/any_op.h"

namespace rooftile::calibration {

/// The operator of a kernel's name and shape.
Result<ops::AnyOp> plain_operator(std::string_view kernel, std::string_view shape);

}  // namespace rooftile::calibration
