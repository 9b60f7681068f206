// SPDX-License-Identifier: Apache-2.0
#include "characterize/cpu/kernels.h"

namespace rooftile::characterize::cpu {

void* const* chase(void* const* start, long long steps) {
  void* const* p = start;
  for (long long i = 0; i < steps; i += 8) {
#pragma GCC unroll 8
    for (int u = 0; u < 8; ++u) {
      p = static_cast<void* const*>(*p);
      asm volatile("" : "+r"(p));
    }
  }
  return p;
}

// Register with register: an addition of a constant is folded into the rename stage of some
// processors and takes no cycle there.
void dependent_adds(long long steps) {
  long long x = 1, y = 1;
  asm volatile("" : "+r"(x), "+r"(y));
  for (long long i = 0; i < steps; i += 64) {
#pragma GCC unroll 64
    for (int u = 0; u < 64; ++u) {
#if defined(__x86_64__)
      asm volatile("add %1, %0" : "+r"(x) : "r"(y) : "cc");
#elif defined(__aarch64__)
      asm volatile("add %0, %0, %1" : "+r"(x) : "r"(y));
#else
      x += y;
      asm volatile("" : "+r"(x));
#endif
    }
  }
}

}  // namespace rooftile::characterize::cpu
