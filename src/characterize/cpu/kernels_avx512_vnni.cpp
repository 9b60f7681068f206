// SPDX-License-Identifier: Apache-2.0
#if defined(__x86_64__)
#include <immintrin.h>

#include "characterize/cpu/kernel_templates.h"

namespace rooftile::characterize::cpu {
namespace {

/// vpdpbusd: 4 multiply-adds of 8-bit integers per 32-bit lane.
struct Ops {
  using V = __m512i;
  static constexpr Link kLink = Link::DotInt8;
  static V zero() { return _mm512_setzero_si512(); }
  static V half() { return _mm512_setzero_si512(); }
  static V add(V a, V b) { return _mm512_add_epi8(a, b); }
  static V fma(V x, V c1, V c2) { return _mm512_dpbusd_epi32(x, c1, c2); }
};

constexpr KernelTable make() {
  KernelTable table = extension_table<Ops>("avx512_vnni");
  table.update_int8 = update_kernels<Ops>();
  return table;
}
constexpr KernelTable kTable = make();

}  // namespace

const KernelTable& avx512_vnni_kernels() {
  return kTable;
}

}  // namespace rooftile::characterize::cpu
#endif
