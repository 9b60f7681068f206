// SPDX-License-Identifier: Apache-2.0
//
// What the name of a kernel says about the work of a pass. gpu_device.cpp counts with it, and the
// tests hold the generated code against it.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "characterize/gpu/kernel_sizes.h"

namespace rooftile::characterize::gpu {

/// The product of one instruction on the matrix units, from the name of its kernel:
/// "mma_fp16_m16n8k16". "..._m8n8k4x4" is four of them in one instruction.
struct Product {
  double flops = 0;       ///< 2 m n k; of sparse products that of the whole operands
  unsigned threads = 0;   ///< that issue it together; 0: a wavefront, whatever its width
  unsigned per_pass = 0;  ///< instructions of each such group and pass
  unsigned blocks_per_unit = 0;
};
std::optional<Product> product_of(std::string_view kernel);

}  // namespace rooftile::characterize::gpu
