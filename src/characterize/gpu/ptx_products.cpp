// SPDX-License-Identifier: Apache-2.0
//
// Products of a warp on the matrix units (mma.sync), operands in registers: eight independent
// accumulators, four rounds of them in the loop. The name of a kernel states the shape of its
// product, which is what is counted; an architecture without the instruction has no such kernel.
#include <array>
#include <string>

#include "characterize/gpu/kernel_names.h"
#include "characterize/gpu/ptx_writer.h"

namespace rooftile::characterize::gpu {

namespace {

struct WarpProduct {
  const char* name;
  const char* instruction;
  char kind;         ///< of the accumulators and operands: r, or d of FP64
  unsigned d, a, b;  ///< registers of accumulators and operands
  ComputeCapability from, before;
  bool sparse = false;
};
constexpr ComputeCapability kVolta{7, 0}, kTuring{7, 5}, kAmpere{8, 0}, kGa10x{8, 6}, kAda{8, 9},
    kHopper{9, 0}, kConsumerBlackwell{12, 0}, kEnd{99, 0};

constexpr std::array kProducts{
    WarpProduct{"mma_fp16_m8n8k4x4", "mma.sync.aligned.m8n8k4.row.col.f32.f16.f16.f32", 'r', 8, 2,
                2, kVolta, kTuring},
    WarpProduct{"mma_fp16_m16n8k8", "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32", 'r', 4, 2,
                1, kTuring, kAmpere},
    WarpProduct{"mma_int8_m8n8k16", "mma.sync.aligned.m8n8k16.row.col.s32.s8.s8.s32", 'r', 2, 1, 1,
                kTuring, kAmpere},
    WarpProduct{"mma_fp16_m16n8k16", "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", 'r', 4, 4,
                2, kAmpere, kEnd},
    WarpProduct{"mma_bf16_m16n8k16", "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32", 'r', 4,
                4, 2, kAmpere, kEnd},
    WarpProduct{"mma_tf32_m16n8k8", "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32", 'r', 4, 4,
                2, kAmpere, kEnd},
    WarpProduct{"mma_int8_m16n8k32", "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32", 'r', 4, 4,
                2, kAmpere, kEnd},
    // Only the data-centre parts have units for FP64.
    WarpProduct{"mma_fp64_m8n8k4", "mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64", 'd', 2, 1, 1,
                kAmpere, kGa10x},
    WarpProduct{"mma_fp64_m16n8k16", "mma.sync.aligned.m16n8k16.row.col.f64.f64.f64.f64", 'd', 4, 8,
                4, kHopper, kConsumerBlackwell},
    // Hopper and Blackwell's data-centre parts run FP8 in this form as FP16 with conversions.
    WarpProduct{"mma_fp8_e4m3_m16n8k32", "mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32", 'r',
                4, 4, 2, kAda, kHopper},
    WarpProduct{"mma_fp8_e4m3_m16n8k32", "mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32", 'r',
                4, 4, 2, kConsumerBlackwell, kEnd},
    WarpProduct{"sparse_fp16_m16n8k32", "mma.sp.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32", 'r',
                4, 4, 4, kAmpere, kHopper, true},
    WarpProduct{"sparse_bf16_m16n8k32", "mma.sp.sync.aligned.m16n8k32.row.col.f32.bf16.bf16.f32",
                'r', 4, 4, 4, kAmpere, kHopper, true},
    WarpProduct{"sparse_tf32_m16n8k16", "mma.sp.sync.aligned.m16n8k16.row.col.f32.tf32.tf32.f32",
                'r', 4, 4, 4, kAmpere, kHopper, true},
    WarpProduct{"sparse_int8_m16n8k64", "mma.sp.sync.aligned.m16n8k64.row.col.s32.s8.s8.s32", 'r',
                4, 4, 4, kAmpere, kHopper, true},
    WarpProduct{"sparse_fp8_e4m3_m16n8k64",
                "mma.sp.sync.aligned.m16n8k64.row.col.f32.e4m3.e4m3.f32", 'r', 4, 4, 4, kAda,
                kHopper, true},
    WarpProduct{"sparse_fp16_m16n8k32",
                "mma.sp::ordered_metadata.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32", 'r', 4, 4,
                4, kConsumerBlackwell, kEnd, true},
    WarpProduct{"sparse_bf16_m16n8k32",
                "mma.sp::ordered_metadata.sync.aligned.m16n8k32.row.col.f32.bf16.bf16.f32", 'r', 4,
                4, 4, kConsumerBlackwell, kEnd, true},
    WarpProduct{"sparse_tf32_m16n8k16",
                "mma.sp::ordered_metadata.sync.aligned.m16n8k16.row.col.f32.tf32.tf32.f32", 'r', 4,
                4, 4, kConsumerBlackwell, kEnd, true},
    WarpProduct{"sparse_int8_m16n8k64",
                "mma.sp::ordered_metadata.sync.aligned.m16n8k64.row.col.s32.s8.s8.s32", 'r', 4, 4,
                4, kConsumerBlackwell, kEnd, true}};

constexpr unsigned kAccumulators = 8, kRounds = 4;

void write_product(PtxWriter& out, const WarpProduct& p) {
  const bool wide = p.kind == 'd';
  constexpr unsigned kFirst = 16;
  const unsigned a = kFirst, b = a + p.a, d = b + p.b, end = d + p.d * kAccumulators;
  out.begin(p.name, kThreads, wide ? 20 : end, wide ? end : 10);
  // Operands from memory: ptxas must not know them.
  for (unsigned i = 0; i < p.a + p.b; ++i) {
    out.line("ld.global.b{} %{}{}, [%d0+{}];", wide ? 64 : 32, p.kind, a + i, 8 * i);
  }
  for (unsigned i = d; i < end; ++i) out.line("mov.b{} %{}{}, 0;", wide ? 64 : 32, p.kind, i);
  if (p.sparse) out.line("mov.b32 %r9, 0x44444444;  // the first two of four are kept");
  out.begin_passes();
  for (unsigned i = 0; i < kAccumulators * kRounds; ++i) {
    const std::string sums = register_list(p.kind, d + i % kAccumulators * p.d, p.d);
    out.line("{} {}, {}, {}, {}{};", p.instruction, sums, register_list(p.kind, a, p.a),
             register_list(p.kind, b, p.b), sums, p.sparse ? ", %r9, 0x0" : "");
  }
  out.end_passes();
  out.line("mov.b32 %r7, 0;");
  out.line("mov.b32 %r8, 0;");
  for (unsigned i = d; i < end; ++i) {
    if (wide) out.line("cvt.u32.u64 %r10, %d{};", i);
    out.line("xor.b32 %r7, %r7, %r{};", wide ? 10 : i);
  }
  out.sink();
  out.end();
}

}  // namespace

void write_warp_products(PtxWriter& out) {
  for (const WarpProduct& p : kProducts) {
    if (out.target() >= p.from && out.target() < p.before) write_product(out, p);
  }
}

}  // namespace rooftile::characterize::gpu
