// SPDX-License-Identifier: Apache-2.0
#if defined(__x86_64__)
#include <emmintrin.h>

#include "characterize/cpu/kernel_templates.h"

namespace rooftile::characterize::cpu {
namespace {

struct Fp64 {
  using V = __m128d;
  static constexpr Link kLink = Link::MulThenAdd;
  static V zero() { return _mm_setzero_pd(); }
  static V one() { return _mm_set1_pd(1.0); }
  static V half() { return _mm_set1_pd(0.5); }
  static V add(V a, V b) { return _mm_add_pd(a, b); }
  static V fma(V a, V b, V c) { return _mm_add_pd(_mm_mul_pd(a, b), c); }
  static void stream(V* p, V v) { _mm_stream_pd(reinterpret_cast<double*>(p), v); }
  static void fence() { _mm_sfence(); }
};

struct Fp32 {
  using V = __m128;
  static constexpr Link kLink = Link::MulThenAdd;
  static V zero() { return _mm_setzero_ps(); }
  static V half() { return _mm_set1_ps(0.5F); }
  static V add(V a, V b) { return _mm_add_ps(a, b); }
  static V fma(V a, V b, V c) { return _mm_add_ps(_mm_mul_ps(a, b), c); }
};

constexpr KernelTable make() {
  KernelTable table = streaming_table<Fp64>("sse2");
  table.update_fp32 = update_kernels<Fp32>();
  return table;
}
constexpr KernelTable kTable = make();

}  // namespace

const KernelTable& sse2_kernels() {
  return kTable;
}

}  // namespace rooftile::characterize::cpu
#endif
