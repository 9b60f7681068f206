// SPDX-License-Identifier: Apache-2.0
//
// Kernels that move bytes, and those that wait for them.
#include <string>

#include "characterize/gpu/kernel_names.h"
#include "characterize/gpu/ptx_writer.h"

namespace rooftile::characterize::gpu {

namespace {

constexpr unsigned kData = 16;  // the first register of what is loaded

/// Four vectors of the array at %d{pointer}, past L1.
void load_vectors(PtxWriter& out, unsigned pointer, unsigned first) {
  for (unsigned u = 0; u < kVectors; ++u) {
    out.line("ld.global.cg.v4.b32 {}, [%d{}+{}];", register_list('r', first + 4 * u, 4), pointer,
             u * kThreads * kVector);
  }
}

void store_vectors(PtxWriter& out, const char* cache, unsigned pointer, unsigned first,
                   unsigned distance) {
  for (unsigned u = 0; u < kVectors; ++u) {
    out.line("st.global{}.v4.b32 [%d{}+{}], {};", cache, pointer, u * kThreads * kVector,
             register_list('r', first + distance * u, 4));
  }
}

void write_load(PtxWriter& out) {
  out.begin("stream_load", kThreads, kData + 4 * kVectors, 10);
  out.line("mov.b32 %r7, 0;");
  out.line("mov.b32 %r8, 0;");
  out.begin_stream(1);
  load_vectors(out, 4, kData);
  for (unsigned u = 0; u < kVectors; ++u) out.fold(kData + 4 * u);
  out.end_stream(1);
  out.sink();
  out.end();
}

/// `cache` is "" or ".cs": lines that are written once and not kept.
void write_store(PtxWriter& out, const char* name, const char* cache) {
  out.begin(name, kThreads, kData + 4, 10);
  out.begin_stream(1);
  for (unsigned i = 0; i < 4; ++i) out.line("mov.b32 %r{}, %r6;", kData + i);
  store_vectors(out, cache, 4, kData, 0);
  out.end_stream(1);
  out.end();
}

void write_copy(PtxWriter& out, const char* name, const char* cache) {
  out.begin(name, kThreads, kData + 4 * kVectors, 10);
  out.begin_stream(2);
  load_vectors(out, 5, kData);
  store_vectors(out, cache, 4, kData, 4);
  out.end_stream(2);
  out.end();
}

/// a = b + c * links in FP64: two elements per vector.
void write_triad(PtxWriter& out, const char* name, const char* cache) {
  constexpr unsigned kB = 16, kC = kB + 2 * kVectors;  // 64-bit registers
  out.begin(name, kThreads, 16, kC + 2 * kVectors);
  out.line("cvt.rn.f64.u32 %d3, %r2;");
  out.begin_stream(3);
  for (const unsigned array : {0U, 1U}) {
    for (unsigned u = 0; u < kVectors; ++u) {
      out.line("ld.global.cg.v2.b64 {}, [%d{}+{}];",
               register_list('d', (array == 0 ? kB : kC) + 2 * u, 2), 5 + array,
               u * kThreads * kVector);
    }
  }
  for (unsigned i = 0; i < 2 * kVectors; ++i) {
    out.line("fma.rn.f64 %d{}, %d{}, %d3, %d{};", kB + i, kC + i, kB + i);
  }
  for (unsigned u = 0; u < kVectors; ++u) {
    out.line("st.global{}.v2.b64 [%d4+{}], {};", cache, u * kThreads * kVector,
             register_list('d', kB + 2 * u, 2));
  }
  out.end_stream(3);
  out.end();
}

/// Each block reads a slice of its own, n vectors (a power of two), again and again through L1. The
/// addresses of a thread's eight loads are computed once; small slices are read several times.
void write_l1(PtxWriter& out) {
  constexpr unsigned kAddress = 16;
  out.begin("l1_load", kL1Threads, kData + 4 * kL1Loads, kAddress + kL1Loads);
  out.line("mov.b32 %r7, 0;");
  out.line("mov.b32 %r8, 0;");
  out.line("mul.wide.u32 %d4, %r4, %r0;");
  out.line("shl.b64 %d4, %d4, 4;");
  out.line("add.u64 %d4, %d4, %d0;");
  out.line("sub.u32 %r9, %r0, 1;");
  for (unsigned u = 0; u < kL1Loads; ++u) {
    out.line("add.u32 %r10, %r3, {};", u * kL1Threads);
    out.line("and.b32 %r10, %r10, %r9;");
    out.line("mul.wide.u32 %d5, %r10, {};", kVector);
    out.line("add.u64 %d{}, %d4, %d5;", kAddress + u);
  }
  out.begin_passes();
  for (unsigned u = 0; u < kL1Loads; ++u) {
    out.line("ld.global.ca.v4.b32 {}, [%d{}];", register_list('r', kData + 4 * u, 4), kAddress + u);
  }
  for (unsigned u = 0; u < kL1Loads; ++u) {
    out.fold(kData + 4 * u);
    out.line("add.u64 %d{}, %d{}, %d3;", kAddress + u, kAddress + u);
  }
  out.end_passes();
  out.sink();
  out.end();
}

/// 32 KiB of shared memory per block, read by all its threads without bank conflicts.
void write_shared(PtxWriter& out) {
  out.begin("shared_load", kSharedThreads, kData + 4 * kVectors, 10);
  out.line(".shared .align 16 .b8 data[{}];", kSharedThreads * kVectors * kVector);
  out.line("mov.b32 %r7, 0;");
  out.line("mov.b32 %r8, 0;");
  out.line("mov.u32 %r9, data;");
  out.line("shl.b32 %r10, %r3, 4;");
  out.line("add.u32 %r9, %r9, %r10;");
  out.line("cvt.u64.u32 %d4, %r10;");
  out.line("add.u64 %d4, %d4, %d0;");
  for (unsigned u = 0; u < kVectors; ++u) {
    const unsigned offset = u * kSharedThreads * kVector;
    out.line("ld.global.v4.b32 {}, [%d4+{}];", register_list('r', kData, 4), offset);
    out.line("st.shared.v4.b32 [%r9+{}], {};", offset, register_list('r', kData, 4));
  }
  out.line("bar.sync 0;");
  out.begin_passes();
  for (unsigned u = 0; u < kVectors; ++u) {
    out.line("ld.shared.v4.b32 {}, [%r9+{}];", register_list('r', kData + 4 * u, 4),
             u * kSharedThreads * kVector);
  }
  for (unsigned u = 0; u < kVectors; ++u) out.fold(kData + 4 * u);
  out.line("add.u32 %r9, %r9, %r2;");
  out.end_passes();
  out.sink();
  out.end();
}

/// One thread follows pointers: each load gives the address of the next. b holds the first one.
void write_chase(PtxWriter& out) {
  out.begin("chase", 1, 16, 10);
  out.line("ld.global.u64 %d4, [%d1];");
  out.begin_passes();
  out.line("mov.b32 %r9, 0;");
  out.begin_loop("STEP");
  for (unsigned i = 0; i < kChaseUnroll; ++i) out.line("ld.global.ca.u64 %d4, [%d4];");
  out.line("add.u32 %r9, %r9, 1;");
  out.line("setp.lt.u32 %p1, %r9, {};", kChaseSteps / kChaseUnroll);
  out.line("@%p1 bra STEP;");
  out.end_passes();
  out.line("st.global.u64 [%d1], %d4;");
  out.end();
}

/// Cycles and nanoseconds of a busy loop, to a: the clock of the multiprocessor.
void write_clock(PtxWriter& out) {
  out.begin("observe_clock", 32, 16, 12);
  out.line("mov.b32 %r7, 0f3F800000;");
  out.line("mov.b32 %r8, 0f3F000000;");
  out.line("mov.u64 %d4, %clock64;");
  out.line("mov.u64 %d5, %globaltimer;");
  out.begin_passes();
  for (unsigned i = 0; i < 64; ++i) out.line("fma.rn.f32 %r7, %r7, %r8, %r8;");
  out.end_passes();
  out.line("mov.u64 %d6, %clock64;");
  out.line("mov.u64 %d7, %globaltimer;");
  out.line("sub.u64 %d6, %d6, %d4;");
  out.line("sub.u64 %d7, %d7, %d5;");
  out.line("st.global.v2.b64 [%d0], {{%d6, %d7}};");
  out.sink();
  out.end();
}

}  // namespace

void write_memory_kernels(PtxWriter& out) {
  write_load(out);
  write_l1(out);
  write_store(out, "stream_store", "");
  write_store(out, "stream_store_nt", ".cs");
  write_copy(out, "stream_copy", "");
  write_copy(out, "stream_copy_nt", ".cs");
  write_triad(out, "stream_triad", "");
  write_triad(out, "stream_triad_nt", ".cs");
  write_shared(out);
  write_chase(out);
  write_clock(out);
  out.begin("empty", 1, 16, 10);
  out.end();
}

}  // namespace rooftile::characterize::gpu
