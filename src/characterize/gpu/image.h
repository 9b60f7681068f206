// SPDX-License-Identifier: Apache-2.0
//
// The compiled HIP kernels inside the program: src/characterize/CMakeLists.txt compiles kernels.hip
// with hipcc or Clang where they are installed. An empty image means that they were not.
#pragma once

#include <string_view>

namespace rooftile::characterize::gpu {

std::string_view hip_image();

}  // namespace rooftile::characterize::gpu
