// SPDX-License-Identifier: Apache-2.0
#if defined(__aarch64__)
#include <arm_neon.h>

#include "characterize/cpu/kernel_templates.h"

namespace rooftile::characterize::cpu {
namespace {

struct Ops {
  using V = float16x8_t;
  static constexpr Link kLink = Link::FmaFp16;
  static V zero() { return vdupq_n_f16(0); }
  static V half() { return vdupq_n_f16(static_cast<float16_t>(0.5F)); }
  static V add(V a, V b) { return vaddq_f16(a, b); }
  static V fma(V a, V b, V c) { return vfmaq_f16(c, a, b); }
};

constexpr KernelTable make() {
  KernelTable table = extension_table<Ops>("neon+fp16");
  table.update_fp16 = update_kernels<Ops>();
  return table;
}
constexpr KernelTable kTable = make();

}  // namespace

const KernelTable& neon_fp16_kernels() {
  return kTable;
}

}  // namespace rooftile::characterize::cpu
#endif
