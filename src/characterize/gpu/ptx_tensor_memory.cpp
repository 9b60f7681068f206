// SPDX-License-Identifier: Apache-2.0
//
// Products of the tensor memory (tcgen05, sm_100a and sm_103a): one thread of a block issues them,
// D of 128 x 256 is in tensor memory, A and B are in shared memory as core matrices of 8 rows x 16
// bytes. Two accumulators take turns. A barrier tells when eight products are done; the next eight
// are issued before they are waited for, so that the units never run dry.
#include <array>
#include <string>

#include "characterize/gpu/kernel_names.h"
#include "characterize/gpu/ptx_writer.h"

namespace rooftile::characterize::gpu {

namespace {

struct TensorProduct {
  const char* name;
  const char* kind;
  unsigned type_d, type_ab;  ///< as the instruction descriptor numbers them
  bool sparse = false;
};
constexpr std::array kTensorProducts{
    TensorProduct{"tcgen05_fp16_m128n256k16", "f16", 1, 0},
    TensorProduct{"tcgen05_bf16_m128n256k16", "f16", 1, 1},
    TensorProduct{"tcgen05_tf32_m128n256k8", "tf32", 1, 2},
    TensorProduct{"tcgen05_fp8_e4m3_m128n256k32", "f8f6f4", 1, 0},
    TensorProduct{"tcgen05_fp8_e5m2_m128n256k32", "f8f6f4", 1, 1},
    TensorProduct{"tcgen05_int8_m128n256k32", "i8", 2, 1},
    TensorProduct{"tcgen05_sparse_fp16_m128n256k32", "f16", 1, 0, true},
    TensorProduct{"tcgen05_sparse_bf16_m128n256k32", "f16", 1, 1, true},
    TensorProduct{"tcgen05_sparse_tf32_m128n256k16", "tf32", 1, 2, true},
    TensorProduct{"tcgen05_sparse_fp8_e4m3_m128n256k64", "f8f6f4", 1, 0, true},
    TensorProduct{"tcgen05_sparse_int8_m128n256k64", "i8", 2, 1, true}};

constexpr unsigned kOperandBytes = 4096 + 16384;  // A of 4 KiB, B of 8 KiB (sparse: 16 KiB)
constexpr unsigned kColumns = 512;                // all of the tensor memory

/// M, N and the types; bit 2 is "sparse".
unsigned instruction_descriptor(const TensorProduct& p) {
  return (p.sparse ? 1U << 2U : 0U) | p.type_d << 4U | p.type_ab << 7U | p.type_ab << 10U |
         (256U >> 3U) << 17U | (128U >> 4U) << 24U;
}

void write_matrix_descriptor(PtxWriter& out, unsigned to, unsigned address, unsigned group) {
  out.line("shr.u32 %r10, %r{}, 4;", address);
  out.line("and.b32 %r10, %r10, 0x3fff;");
  out.line("cvt.u64.u32 %d{}, %r10;", to);
  const unsigned long long fields = (128ULL >> 4U) << 16U |
                                    static_cast<unsigned long long>(group >> 4U) << 32U |
                                    1ULL << 46U;  // always one
  out.line("or.b64 %d{}, %d{}, {:#x};", to, to, fields);
}

/// Waits until the phase %r{phase} of the barrier at %r{barrier} is over.
void write_wait(PtxWriter& out, unsigned barrier, unsigned phase, const char* label) {
  out.label(label);
  out.line("mbarrier.try_wait.parity.shared::cta.b64 %p3, [%r{}], %r{};", barrier, phase);
  out.line("@!%p3 bra {};", label);
}

/// Half the products of a pass; the barrier at %r{barrier} will know when they are done.
void write_half(PtxWriter& out, const TensorProduct& p, unsigned barrier) {
  for (unsigned i = 0; i < product_of(p.name)->per_pass / 2; ++i) {
    out.line("tcgen05.mma{}.cta_group::1.kind::{} [%r{}], %d4, %d5, {}%r19, %p2;",
             p.sparse ? ".sp" : "", p.kind, p.sparse ? 17 : 17 + i % 2, p.sparse ? "[%r18], " : "");
  }
  out.line("tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%r{}];",
           barrier);
}

void write_tensor_setup(PtxWriter& out, const TensorProduct& p) {
  out.line(".shared .align 128 .b8 operands[{}];", kOperandBytes);
  out.line(".shared .align 8 .b64 barriers[2];");
  out.line(".shared .align 4 .b32 where;");
  out.line("mov.u32 %r9, operands;");
  out.line("mov.u32 %r15, barriers;");
  out.line("add.u32 %r22, %r15, 8;");
  out.line("mov.u32 %r16, where;");
  out.line("ld.global.b32 %r11, [%d0];");
  out.line("shl.b32 %r12, %r3, 2;");
  out.line("add.u32 %r12, %r12, %r9;");
  for (unsigned at = 0; at < kOperandBytes; at += kThreads * 4) {
    out.line("st.shared.b32 [%r12+{}], %r11;", at);
  }
  out.line("fence.proxy.async;");
  write_matrix_descriptor(out, 4, 9, 256);
  out.line("add.u32 %r13, %r9, 4096;");
  write_matrix_descriptor(out, 5, 13, p.sparse ? 512 : 256);
  // The first warp allocates the tensor memory, one thread makes the barrier.
  out.line("setp.ge.u32 %p4, %r3, 32;");
  out.line("@%p4 bra ALLOCATED;");
  out.line("tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%r16], {};", kColumns);
  out.line("tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;");
  out.label("ALLOCATED");
  out.line("setp.ne.u32 %p5, %r3, 0;");
  out.line("@%p5 bra READY;");
  out.line("mbarrier.init.shared::cta.b64 [%r15], 1;");
  out.line("mbarrier.init.shared::cta.b64 [%r22], 1;");
  out.label("READY");
  out.line("bar.sync 0;");
  out.line("ld.shared.b32 %r17, [%r16];");
  out.line("add.u32 %r18, %r17, 256;  // the second accumulator");
}

/// Sparse products have one accumulator: their metadata are in the second half of the memory.
void write_tensor_product(PtxWriter& out, const TensorProduct& p) {
  out.begin(p.name, kThreads, 32, 10);
  write_tensor_setup(out, p);
  out.line("mov.b32 %r19, {:#x};", instruction_descriptor(p));
  out.line("mov.b32 %r20, 0;  // the phase");
  out.line("setp.eq.u32 %p2, %r2, 0;  // always: D is added to");
  out.line("@%p5 bra FINISHED;");
  out.begin_passes();
  write_half(out, p, 15);
  out.line("xor.b32 %r21, %r20, 1;");
  write_wait(out, 22, 21, "WAIT_BEFORE");  // at first: a phase that counts as over
  write_half(out, p, 22);
  write_wait(out, 15, 20, "WAIT");
  out.line("xor.b32 %r20, %r20, 1;");
  out.end_passes();
  out.line("xor.b32 %r21, %r20, 1;");
  write_wait(out, 22, 21, "WAIT_LAST");
  out.label("FINISHED");
  out.line("bar.sync 0;");
  out.line("@%p4 bra END;");
  out.line("tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r17, {};", kColumns);
  out.label("END");
  out.end();
}

}  // namespace

void write_tensor_memory_products(PtxWriter& out) {
  const bool has_int8 = out.target() == ComputeCapability{10, 0};
  if (out.target().major != 10) return;
  for (const TensorProduct& p : kTensorProducts) {
    if (std::string_view(p.kind) == "i8" && !has_int8) continue;
    write_tensor_product(out, p);
  }
}

}  // namespace rooftile::characterize::gpu
