// SPDX-License-Identifier: Apache-2.0
#if defined(__x86_64__)
#include <immintrin.h>

#include "characterize/cpu/kernel_templates.h"

namespace rooftile::characterize::cpu {
namespace {

struct Fp64 {
  using V = __m256d;
  static constexpr Link kLink = Link::Fma;
  static V zero() { return _mm256_setzero_pd(); }
  static V one() { return _mm256_set1_pd(1.0); }
  static V half() { return _mm256_set1_pd(0.5); }
  static V add(V a, V b) { return _mm256_add_pd(a, b); }
  static V fma(V a, V b, V c) { return _mm256_fmadd_pd(a, b, c); }
  static void stream(V* p, V v) { _mm256_stream_pd(reinterpret_cast<double*>(p), v); }
  static void fence() { _mm_sfence(); }
};

struct Fp32 {
  using V = __m256;
  static constexpr Link kLink = Link::Fma;
  static V zero() { return _mm256_setzero_ps(); }
  static V half() { return _mm256_set1_ps(0.5F); }
  static V add(V a, V b) { return _mm256_add_ps(a, b); }
  static V fma(V a, V b, V c) { return _mm256_fmadd_ps(a, b, c); }
};

/// Without a dot-product instruction: u8 x s8 -> s16 pairs -> s32 pairs -> add, 3 instructions for
/// 32 multiply-adds. `c1` is 0, so the sums do not grow.
struct Int8 {
  using V = __m256i;
  static constexpr Link kLink = Link::MaddThenAdd;
  static V zero() { return _mm256_setzero_si256(); }
  static V half() { return _mm256_setzero_si256(); }
  static V add(V a, V b) { return _mm256_add_epi8(a, b); }
  static V fma(V x, V c1, V c2) {
    return _mm256_add_epi32(x, _mm256_madd_epi16(_mm256_maddubs_epi16(x, c1), c2));
  }
};

constexpr KernelTable make() {
  KernelTable table = streaming_table<Fp64>("avx2+fma");
  table.update_fp32 = update_kernels<Fp32>();
  table.update_int8 = update_kernels<Int8>();
  return table;
}
constexpr KernelTable kTable = make();

}  // namespace

const KernelTable& avx2_kernels() {
  return kTable;
}

}  // namespace rooftile::characterize::cpu
#endif
