// SPDX-License-Identifier: Apache-2.0
#if defined(__aarch64__)
#include <arm_neon.h>

#include "characterize/cpu/kernel_templates.h"

namespace rooftile::characterize::cpu {
namespace {

/// bfdot: 2 multiply-adds of BF16 per 32-bit lane; there is no BF16 addition.
struct Ops {
  using V = float32x4_t;
  static constexpr Link kLink = Link::DotBf16;
  static V zero() { return vdupq_n_f32(0); }
  static V half() { return vdupq_n_f32(0); }
  static V fma(V x, V c1, V c2) {
    return vbfdotq_f32(x, vreinterpretq_bf16_f32(c1), vreinterpretq_bf16_f32(c2));
  }
};

constexpr KernelTable make() {
  KernelTable table = extension_table<Ops>("neon+bf16");
  table.update_bf16 = update_kernels<Ops>();
  return table;
}
constexpr KernelTable kTable = make();

}  // namespace

const KernelTable& neon_bf16_kernels() {
  return kTable;
}

}  // namespace rooftile::characterize::cpu
#endif
