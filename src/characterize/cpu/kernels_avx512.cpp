// SPDX-License-Identifier: Apache-2.0
#if defined(__x86_64__)
#include <immintrin.h>

#include "characterize/cpu/kernel_templates.h"

namespace rooftile::characterize::cpu {
namespace {

struct Fp64 {
  using V = __m512d;
  static constexpr Link kLink = Link::Fma;
  static V zero() { return _mm512_setzero_pd(); }
  static V one() { return _mm512_set1_pd(1.0); }
  static V half() { return _mm512_set1_pd(0.5); }
  static V add(V a, V b) { return _mm512_add_pd(a, b); }
  static V fma(V a, V b, V c) { return _mm512_fmadd_pd(a, b, c); }
  static void stream(V* p, V v) { _mm512_stream_pd(reinterpret_cast<double*>(p), v); }
  static void fence() { _mm_sfence(); }
};

struct Fp32 {
  using V = __m512;
  static constexpr Link kLink = Link::Fma;
  static V zero() { return _mm512_setzero_ps(); }
  static V half() { return _mm512_set1_ps(0.5F); }
  static V add(V a, V b) { return _mm512_add_ps(a, b); }
  static V fma(V a, V b, V c) { return _mm512_fmadd_ps(a, b, c); }
};

constexpr KernelTable make() {
  KernelTable table = streaming_table<Fp64>("avx512f");
  table.update_fp32 = update_kernels<Fp32>();
  return table;
}
constexpr KernelTable kTable = make();

}  // namespace

const KernelTable& avx512_kernels() {
  return kTable;
}

}  // namespace rooftile::characterize::cpu
#endif
