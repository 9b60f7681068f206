// SPDX-License-Identifier: Apache-2.0
// Prints the PTX of a compute capability: `gpu_ptx 9 0`. For the tests, which compile it.
#include <cstdio>
#include <cstdlib>

#include "characterize/gpu/ptx.h"

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const rooftile::characterize::gpu::ComputeCapability of{std::atoi(argv[1]), std::atoi(argv[2])};
  const std::string text = rooftile::characterize::gpu::ptx_module(of);
  std::fputs(text.c_str(), stdout);
  return text.empty() ? 1 : 0;
}
