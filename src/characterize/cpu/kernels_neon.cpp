// SPDX-License-Identifier: Apache-2.0
#if defined(__aarch64__)
#include <arm_neon.h>

#include "characterize/cpu/kernel_templates.h"

namespace rooftile::characterize::cpu {
namespace {

struct Fp64 {
  using V = float64x2_t;
  static constexpr Link kLink = Link::Fma;
  static V zero() { return vdupq_n_f64(0.0); }
  static V one() { return vdupq_n_f64(1.0); }
  static V half() { return vdupq_n_f64(0.5); }
  static V add(V a, V b) { return vaddq_f64(a, b); }
  static V fma(V a, V b, V c) { return vfmaq_f64(c, a, b); }
  /// The only non-temporal store stores pairs, so a single vector is an ordinary store.
  static void stream(V* p, V v) { asm volatile("str %q1, %0" : "=m"(*p) : "w"(v)); }
  static void fence() {}
};

struct Fp32 {
  using V = float32x4_t;
  static constexpr Link kLink = Link::Fma;
  static V zero() { return vdupq_n_f32(0.0F); }
  static V half() { return vdupq_n_f32(0.5F); }
  static V add(V a, V b) { return vaddq_f32(a, b); }
  static V fma(V a, V b, V c) { return vfmaq_f32(c, a, b); }
};

constexpr KernelTable make() {
  KernelTable table = streaming_table<Fp64>("neon");
  table.update_fp32 = update_kernels<Fp32>();
  // Nothing would differ from the ordinary stores (see Fp64::stream).
  table.store_nt = nullptr;
  table.copy_nt = nullptr;
  table.triad_nt = nullptr;
  return table;
}
constexpr KernelTable kTable = make();

}  // namespace

const KernelTable& neon_kernels() {
  return kTable;
}

}  // namespace rooftile::characterize::cpu
#endif
