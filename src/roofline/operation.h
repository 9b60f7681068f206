// SPDX-License-Identifier: Apache-2.0
//
// What a kernel does, from its name alone: the class of its operation ("convolution"), and its name
// without what only says in which number format, for which chip and in which build of a library it
// does it. Words of the libraries that are in use (cuDNN, cuBLAS, CUTLASS, MIOpen, Tensile, Eigen,
// ATen, Triton, NCCL); a name without any of them is "other", which nothing is compared by.
#pragma once

#include <string>
#include <string_view>

namespace rooftile::roofline {

/// "product", "convolution", "attention", "normalization", "softmax", "pooling", "optimizer",
/// "communication", "reduction", "data movement", "embedding", "random numbers", "element-wise", or
/// "other".
std::string_view operation_class(std::string_view kernel);

/// "volta_fp16_s884cudnn_fp16_128x128_nn_v1" and "volta_s884cudnn_128x128_nn_v0" have one.
std::string format_free_name(std::string_view kernel);

}  // namespace rooftile::roofline
