// SPDX-License-Identifier: Apache-2.0
#if defined(__x86_64__)
#include <immintrin.h>

#include "characterize/cpu/kernel_templates.h"

namespace rooftile::characterize::cpu {
namespace {

/// vdpbf16ps: 2 multiply-adds of BF16 per 32-bit lane; there is no BF16 addition.
struct Ops {
  using V = __m512;
  static constexpr Link kLink = Link::DotBf16;
  static V zero() { return _mm512_setzero_ps(); }
  static V half() { return _mm512_setzero_ps(); }
  static V fma(V x, V c1, V c2) {
    return _mm512_dpbf16_ps(x, (__m512bh)_mm512_castps_si512(c1),
                            (__m512bh)_mm512_castps_si512(c2));
  }
};

constexpr KernelTable make() {
  KernelTable table = extension_table<Ops>("avx512_bf16");
  table.update_bf16 = update_kernels<Ops>();
  return table;
}
constexpr KernelTable kTable = make();

}  // namespace

const KernelTable& avx512_bf16_kernels() {
  return kTable;
}

}  // namespace rooftile::characterize::cpu
#endif
