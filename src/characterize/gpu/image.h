// SPDX-License-Identifier: Apache-2.0
//
// The compiled GPU kernels inside the program: src/characterize/CMakeLists.txt compiles kernels.cu
// with nvcc (and hipcc) where they are installed. An empty image means that they were not.
#pragma once

#include <string_view>

namespace rooftile::characterize::gpu {

/// Machine code of several architectures, and PTX for those that come later.
std::string_view cuda_image();
/// The PTX of compute capability 8.9 as text, for checks of what was generated.
std::string_view cuda_ptx();
std::string_view hip_image();

}  // namespace rooftile::characterize::gpu
