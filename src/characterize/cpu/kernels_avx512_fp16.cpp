// SPDX-License-Identifier: Apache-2.0
#if defined(__x86_64__)
#include <immintrin.h>

#include "characterize/cpu/kernel_templates.h"

namespace rooftile::characterize::cpu {
namespace {

struct Ops {
  using V = __m512h;
  static constexpr Link kLink = Link::FmaFp16;
  static V zero() { return _mm512_setzero_ph(); }
  static V half() { return _mm512_set1_ph(static_cast<_Float16>(0.5F)); }
  static V add(V a, V b) { return _mm512_add_ph(a, b); }
  static V fma(V a, V b, V c) { return _mm512_fmadd_ph(a, b, c); }
};

constexpr KernelTable make() {
  KernelTable table = extension_table<Ops>("avx512_fp16");
  table.update_fp16 = update_kernels<Ops>();
  return table;
}
constexpr KernelTable kTable = make();

}  // namespace

const KernelTable& avx512_fp16_kernels() {
  return kTable;
}

}  // namespace rooftile::characterize::cpu
#endif
