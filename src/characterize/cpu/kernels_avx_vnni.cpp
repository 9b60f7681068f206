// SPDX-License-Identifier: Apache-2.0
#if defined(__x86_64__)
#include <immintrin.h>

#include "characterize/cpu/kernel_templates.h"

namespace rooftile::characterize::cpu {
namespace {

/// vpdpbusd: 4 multiply-adds of 8-bit integers per 32-bit lane.
struct Ops {
  using V = __m256i;
  static constexpr Link kLink = Link::DotInt8;
  static V zero() { return _mm256_setzero_si256(); }
  static V half() { return _mm256_setzero_si256(); }
  static V add(V a, V b) { return _mm256_add_epi8(a, b); }
  static V fma(V x, V c1, V c2) { return _mm256_dpbusd_avx_epi32(x, c1, c2); }
};

constexpr KernelTable make() {
  KernelTable table = extension_table<Ops>("avx_vnni");
  table.update_int8 = update_kernels<Ops>();
  return table;
}
constexpr KernelTable kTable = make();

}  // namespace

const KernelTable& avx_vnni_kernels() {
  return kTable;
}

}  // namespace rooftile::characterize::cpu
#endif
