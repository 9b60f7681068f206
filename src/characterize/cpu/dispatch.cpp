// SPDX-License-Identifier: Apache-2.0
#include "characterize/cpu/dispatch.h"

#if defined(__aarch64__)
#include <asm/hwcap.h>
#include <sys/auxv.h>
#endif

namespace rooftile::characterize::cpu {

namespace {
constexpr std::int64_t kFlopsOfABlock = 16;  // 8 multiply-adds
}  // namespace

Kernel kernel_for(const UpdateKernels& kernels, std::int64_t flops) {
  switch (flops) {
    case 1: return kernels.add;
    case 2: return kernels.one;
    case 4: return kernels.two;
    case 8: return kernels.four;
    default: return blocks_for(flops) > 0 ? kernels.eights : nullptr;
  }
}

std::int64_t blocks_for(std::int64_t flops) {
  return flops > 0 && flops % kFlopsOfABlock == 0 ? flops / kFlopsOfABlock : 0;
}

std::optional<std::int64_t> least_flops(const UpdateKernels& kernels) {
  if (kernels.add != nullptr) return 1;
  if (kernels.one != nullptr) return 2;
  return std::nullopt;
}

#if defined(__x86_64__)

std::vector<const KernelTable*> base_tables() {
  __builtin_cpu_init();
  std::vector<const KernelTable*> out;
  if (__builtin_cpu_supports("avx512f")) out.push_back(&avx512_kernels());
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
    out.push_back(&avx2_kernels());
  }
  out.push_back(&sse2_kernels());
  return out;
}

std::vector<const KernelTable*> extension_tables(const KernelTable& base) {
  std::vector<const KernelTable*> out;
  if (base.vector_bytes >= 64) {
    const bool words = __builtin_cpu_supports("avx512bw");
    if (words && __builtin_cpu_supports("avx512vnni")) out.push_back(&avx512_vnni_kernels());
    if (words && __builtin_cpu_supports("avx512bf16")) out.push_back(&avx512_bf16_kernels());
    if (words && __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512fp16")) {
      out.push_back(&avx512_fp16_kernels());
    }
  }
  if (base.vector_bytes >= 32) {
    if (__builtin_cpu_supports("avxvnni")) out.push_back(&avx_vnni_kernels());
    if (&base != &avx2_kernels()) out.push_back(&avx2_kernels());
  }
  return out;
}

#elif defined(__aarch64__)

std::vector<const KernelTable*> base_tables() {
  return {&neon_kernels()};
}

std::vector<const KernelTable*> extension_tables(const KernelTable&) {
  std::vector<const KernelTable*> out;
  if ((getauxval(AT_HWCAP) & HWCAP_ASIMDHP) != 0) out.push_back(&neon_fp16_kernels());
  if ((getauxval(AT_HWCAP) & HWCAP_ASIMDDP) != 0) out.push_back(&neon_dot_kernels());
  if ((getauxval(AT_HWCAP2) & HWCAP2_BF16) != 0) out.push_back(&neon_bf16_kernels());
  return out;
}

#else

std::vector<const KernelTable*> base_tables() {
  return {};
}
std::vector<const KernelTable*> extension_tables(const KernelTable&) {
  return {};
}

#endif

}  // namespace rooftile::characterize::cpu
