// SPDX-License-Identifier: Apache-2.0
//
// Products of four warps (wgmma, sm_90a): D of 64 x 256 in registers, A and B in shared memory as
// core matrices of 8 rows x 16 bytes, without swizzling. Two groups per block and one block per
// multiprocessor: while one waits for its sixteen products, the other's are running.
#include <array>
#include <string>

#include "characterize/gpu/kernel_names.h"
#include "characterize/gpu/ptx_writer.h"

namespace rooftile::characterize::gpu {

namespace {

struct GroupProduct {
  const char* name;
  const char* types;      ///< ".f32.f16.f16"
  unsigned depth;         ///< k of the instruction
  const char* modifiers;  ///< what follows the descriptors
  bool sparse = false;
};
constexpr const char* kScales = ", 1, 1";  // of A and B
constexpr const char* kScalesTransposes = ", 1, 1, 0, 0";

constexpr std::array kGroupProducts{
    GroupProduct{"wgmma_fp16_m64n256k16", ".f32.f16.f16", 16, kScalesTransposes},
    GroupProduct{"wgmma_bf16_m64n256k16", ".f32.bf16.bf16", 16, kScalesTransposes},
    GroupProduct{"wgmma_tf32_m64n256k8", ".f32.tf32.tf32", 8, kScales},
    GroupProduct{"wgmma_fp8_e4m3_m64n256k32", ".f32.e4m3.e4m3", 32, kScales},
    GroupProduct{"wgmma_fp8_e5m2_m64n256k32", ".f32.e5m2.e5m2", 32, kScales},
    GroupProduct{"wgmma_int8_m64n256k32", ".s32.s8.s8", 32, ""},
    GroupProduct{"wgmma_sparse_fp16_m64n256k32", ".f32.f16.f16", 32, kScalesTransposes, true},
    GroupProduct{"wgmma_sparse_bf16_m64n256k32", ".f32.bf16.bf16", 32, kScalesTransposes, true},
    GroupProduct{"wgmma_sparse_tf32_m64n256k16", ".f32.tf32.tf32", 16, kScales, true},
    GroupProduct{"wgmma_sparse_fp8_e4m3_m64n256k64", ".f32.e4m3.e4m3", 64, kScales, true},
    GroupProduct{"wgmma_sparse_int8_m64n256k64", ".s32.s8.s8", 64, "", true}};

constexpr unsigned kSums = 128;        // registers of D
constexpr unsigned kOperands = 18432;  // A of 2 KiB and B of 8 KiB (sparse: 16 KiB)
constexpr unsigned kBOffset = 2048;

/// %d{to}: the descriptor of the matrix at shared address %r{address}: 128 bytes from one core
/// matrix to the next along k, `group` bytes to the next eight rows.
void write_descriptor(PtxWriter& out, unsigned to, unsigned address, unsigned group) {
  out.line("shr.u32 %r10, %r{}, 4;", address);
  out.line("and.b32 %r10, %r10, 0x3fff;");
  out.line("cvt.u64.u32 %d{}, %r10;", to);
  const unsigned long long fields =
      (128ULL >> 4U) << 16U | static_cast<unsigned long long>(group >> 4U) << 32U;
  out.line("or.b64 %d{}, %d{}, {:#x};", to, to, fields);
}

void write_group_product(PtxWriter& out, const GroupProduct& p) {
  constexpr unsigned kD = 16;
  out.begin(p.name, kThreads, kD + kSums, 10);
  out.line(".shared .align 128 .b8 operands[{}];", kOperands);
  out.line("mov.u32 %r9, operands;");
  // Every thread fills its part with what a holds.
  out.line("ld.global.b32 %r11, [%d0];");
  out.line("shl.b32 %r12, %r3, 2;");
  out.line("add.u32 %r12, %r12, %r9;");
  for (unsigned at = 0; at < kOperands; at += kThreads * 4)
    out.line("st.shared.b32 [%r12+{}], %r11;", at);
  out.line("fence.proxy.async;");
  out.line("bar.sync 0;");
  write_descriptor(out, 4, 9, 256);
  out.line("add.u32 %r13, %r9, {};", kBOffset);
  write_descriptor(out, 5, 13, p.sparse ? 512 : 256);
  for (unsigned i = 0; i < kSums; ++i) out.line("mov.b32 %r{}, 0;", kD + i);
  out.line("mov.b32 %r14, 0x44444444;  // sparse: the first two of four are kept");
  out.line("setp.eq.u32 %p2, %r2, 0;  // always: D is added to");
  out.begin_passes();
  out.line("wgmma.fence.sync.aligned;");
  const std::string sums = register_list('r', kD, kSums);
  for (unsigned i = 0; i < product_of(p.name)->per_pass; ++i) {
    out.line("wgmma.mma_async{}.sync.aligned.m64n256k{}{} {}, %d4, %d5{}, %p2{};",
             p.sparse ? ".sp" : "", p.depth, p.types, sums, p.sparse ? ", %r14, 0" : "",
             p.modifiers);
  }
  out.line("wgmma.commit_group.sync.aligned;");
  out.line("wgmma.wait_group.sync.aligned 0;");
  out.end_passes();
  out.line("mov.b32 %r7, 0;");
  out.line("mov.b32 %r8, 0;");
  for (unsigned i = 0; i < kSums; ++i) out.line("xor.b32 %r7, %r7, %r{};", kD + i);
  out.sink();
  out.end();
}

}  // namespace

void write_group_products(PtxWriter& out) {
  if (out.target() != ComputeCapability{9, 0}) return;
  for (const GroupProduct& p : kGroupProducts) write_group_product(out, p);
}

}  // namespace rooftile::characterize::gpu
