// SPDX-License-Identifier: Apache-2.0
//
// The micro-kernels of the host processor, one table per instruction set. Each table is compiled
// in its own file with the flags of that instruction set, and is called only after the processor
// said that it has it. For that reason this header and kernel_templates.h include nothing with
// inline functions: the linker could otherwise keep the AVX-512 copy of one for the whole program.
#pragma once

namespace rooftile::characterize::cpu {

/// The arrays of one thread. They do not overlap, are 64-byte aligned, and `bytes` (of each of
/// them) is a multiple of KernelTable::granule.
struct KernelArguments {
  void* a;
  void* b;
  void* c;
  long long bytes;
  long long passes;
  long long blocks;  ///< UpdateKernels::eights only
};

using Kernel = void (*)(const KernelArguments&);

/// What one link of a chain of multiply-adds is made of; how many of them a core can do per cycle
/// is in microarchitecture.h.
enum class Link : unsigned char {
  MulThenAdd,  ///< two instructions, FP32 and FP64
  Fma,         ///< FP32 and FP64
  FmaFp16,
  DotBf16,     ///< 2 products per 32-bit lane
  DotInt8,     ///< 4 products per 32-bit lane
  MaddThenAdd  ///< INT8 without a dot product: two multiplying instructions and an addition
};

/// ERT's kernel in one number format, one function per intensity. What the instruction set cannot
/// do is null, so there is no function that would do less than its name says.
struct UpdateKernels {
  Link link;
  Kernel add;             ///< 1 FLOP per element
  Kernel one, two, four;  ///< so many multiply-adds per element
  Kernel eights;          ///< 8 x KernelArguments::blocks multiply-adds
};

/// Absent kernels are null.
struct KernelTable {
  const char* isa;
  int vector_bytes;
  int granule;  ///< bytes one step of the longest unrolled loop touches
  Kernel load, store, store_nt, copy, copy_nt, triad, triad_nt;  ///< in FP64
  UpdateKernels update_fp64, update_fp32, update_fp16, update_bf16, update_int8;
};

#if defined(__x86_64__)
const KernelTable& sse2_kernels();
const KernelTable& avx2_kernels();
const KernelTable& avx_vnni_kernels();
const KernelTable& avx512_kernels();
const KernelTable& avx512_vnni_kernels();
const KernelTable& avx512_bf16_kernels();
const KernelTable& avx512_fp16_kernels();
#elif defined(__aarch64__)
const KernelTable& neon_kernels();
const KernelTable& neon_fp16_kernels();
const KernelTable& neon_dot_kernels();
const KernelTable& neon_bf16_kernels();
#endif

/// `steps` dependent loads, starting at and returning to a cell of a pointer cycle.
void* const* chase(void* const* start, long long steps);
/// `steps` dependent integer additions, one cycle each on every processor in question.
void dependent_adds(long long steps);

}  // namespace rooftile::characterize::cpu
