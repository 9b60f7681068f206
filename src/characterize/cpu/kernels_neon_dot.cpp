// SPDX-License-Identifier: Apache-2.0
#if defined(__aarch64__)
#include <arm_neon.h>

#include "characterize/cpu/kernel_templates.h"

namespace rooftile::characterize::cpu {
namespace {

/// sdot: 4 multiply-adds of 8-bit integers per 32-bit lane.
struct Ops {
  using V = int8x16_t;
  static constexpr Link kLink = Link::DotInt8;
  static V zero() { return vdupq_n_s8(0); }
  static V half() { return vdupq_n_s8(0); }
  static V add(V a, V b) { return vaddq_s8(a, b); }
  static V fma(V x, V c1, V c2) {
    return vreinterpretq_s8_s32(vdotq_s32(vreinterpretq_s32_s8(x), c1, c2));
  }
};

constexpr KernelTable make() {
  KernelTable table = extension_table<Ops>("neon+dotprod");
  table.update_int8 = update_kernels<Ops>();
  return table;
}
constexpr KernelTable kTable = make();

}  // namespace

const KernelTable& neon_dot_kernels() {
  return kTable;
}

}  // namespace rooftile::characterize::cpu
#endif
