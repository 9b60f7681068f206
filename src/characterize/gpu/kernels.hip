// SPDX-License-Identifier: Apache-2.0
//
// The HIP micro-kernels. They are compiled into an image that the host loads at run time
// (gpu_device.cpp chooses the grid and counts the work; kernel_names.h has the numbers). All take
// the same arguments as CUDA's, which ptx.h describes:
//   a, b, c  arrays      n  vectors of 16 bytes      passes  rounds      links  FMAs per element
#ifndef ROOFTILE_MODEL
#include "amd.inc"
#endif
#include "kernel_sizes.h"

namespace {

using namespace rooftile::characterize::gpu;

/// Keeps a value alive without storing it: the condition is never true, but only the host knows.
__device__ inline void sink(void* out, float value, unsigned links) {
  if (links == 0x7fffffffU) *static_cast<float*>(out) = value;
}

/// The thread's four vectors of a chunk.
__device__ inline void load_chunk(const Float4* p, Float4 (&x)[4]) {
  const Float4* const at[4] = {p, p + kThreads, p + 2 * kThreads, p + 3 * kThreads};
  load_l2(at, x);
}

/// Calls body(first vector of the thread) for every chunk of the block.
template <typename Body>
__device__ inline void for_chunks(unsigned n, unsigned passes, Body body) {
  const unsigned chunks = n / (kThreads * kVectors), first = block_index(), step = grid_size();
  ROOFTILE_ROLLED
  for (unsigned pass = 0; pass < passes; ++pass) {
    ROOFTILE_ROLLED
    for (unsigned chunk = first; chunk < chunks; chunk += step) {
      body(static_cast<unsigned long>(chunk) * kThreads * kVectors + thread_index());
    }
  }
}

template <void (*Store)(Float4*, Float4)>
__device__ inline void store_chunk(Float4* p, const Float4 (&x)[4]) {
  ROOFTILE_UNROLLED
  for (unsigned u = 0; u < kVectors; ++u) Store(p + u * kThreads, x[u]);
}

template <void (*Store)(Float4*, Float4)>
__device__ inline void fill_chunks(Float4* a, unsigned n, unsigned passes) {
  for_chunks(n, passes, [=](unsigned long i) {
    const float v = static_cast<float>(n);
    const Float4 x[4] = {{v, v, v, v}, {v, v, v, v}, {v, v, v, v}, {v, v, v, v}};
    store_chunk<Store>(a + i, x);
  });
}

template <void (*Store)(Float4*, Float4)>
__device__ inline void copy_chunks(Float4* a, const Float4* b, unsigned n, unsigned passes) {
  for_chunks(n, passes, [=](unsigned long i) {
    Float4 x[4];
    load_chunk(b + i, x);
    store_chunk<Store>(a + i, x);
  });
}

/// a = b + c * links in FP64: two elements per vector.
template <void (*Store)(Float4*, Float4)>
__device__ inline void triad_chunks(Float4* a, const Float4* b, const Float4* c, unsigned n,
                                    unsigned passes, unsigned links) {
  const auto factor = static_cast<double>(links);
  for_chunks(n, passes, [=](unsigned long i) {
    Float4 x[4], y[4];
    load_chunk(b + i, x);
    load_chunk(c + i, y);
    ROOFTILE_UNROLLED
    for (unsigned u = 0; u < kVectors; ++u) {
      auto p = __builtin_bit_cast(Double2, x[u]);
      const auto q = __builtin_bit_cast(Double2, y[u]);
      p[0] = fma_of(q[0], factor, p[0]);
      p[1] = fma_of(q[1], factor, p[1]);
      x[u] = __builtin_bit_cast(Float4, p);
    }
    store_chunk<Store>(a + i, x);
  });
}

/// `Links` FMAs on every element of four vectors.
template <unsigned Links, typename T, unsigned Count>
__device__ inline void chain(T (&x)[Count], T factor, T addend) {
  ROOFTILE_UNROLLED
  for (unsigned link = 0; link < Links; ++link) {
    ROOFTILE_UNROLLED
    for (unsigned u = 0; u < Count; ++u) x[u] = fma_of(x[u], factor, addend);
  }
}

/// ERT's kernel at the fixed point x * 0.5 + 0.5 = x of x = 1: the binary digits of `links` below
/// 32 are blocks, the rest is a loop of 32. Without links it does x * 1 + 0, which counts as ERT's
/// one addition.
template <typename T>
__device__ inline void update(Float4* a, unsigned n, unsigned passes, unsigned links, T half, T one,
                              T zero) {
  constexpr unsigned kCount = kVectors * sizeof(Float4) / sizeof(T);
  for_chunks(n, passes, [=](unsigned long i) {
    Float4 vectors[4];
    load_chunk(a + i, vectors);
    T x[kCount];
    __builtin_memcpy(x, vectors, sizeof(x));
    if (links == 0) chain<1>(x, one, zero);
    if (links & 1U) chain<1>(x, half, half);
    if (links & 2U) chain<2>(x, half, half);
    if (links & 4U) chain<4>(x, half, half);
    if (links & 8U) chain<8>(x, half, half);
    if (links & 16U) chain<16>(x, half, half);
    ROOFTILE_ROLLED
    for (unsigned round = 0; round < links / kLinks; ++round) chain<kLinks>(x, half, half);
    __builtin_memcpy(vectors, x, sizeof(x));
    store_chunk<store>(a + i, vectors);
  });
}

}  // namespace

#define ROOFTILE_KERNEL(NAME, A, B, C)                                                           \
  extern "C" __global__ void NAME([[maybe_unused]] A* a, [[maybe_unused]] B* b,                  \
                                  [[maybe_unused]] C* c, [[maybe_unused]] unsigned n,            \
                                  [[maybe_unused]] unsigned passes, [[maybe_unused]] unsigned links)

ROOFTILE_KERNEL(stream_load, const Float4, void, void) {
  float s = 0;
  for_chunks(n, passes, [&](unsigned long i) {
    Float4 x[4];
    load_chunk(a + i, x);
    s += x[0][0];
  });
  sink(b, s, links);
}

/// Each block reads a slice of its own, n vectors (a power of two), again and again through L1.
/// Small slices are read several times in a pass.
ROOFTILE_KERNEL(l1_load, const Float4, void, void) {
  const Float4* own = a + static_cast<unsigned long>(block_index()) * n;
  const Float4* at[kL1Loads / 4][4];
  ROOFTILE_UNROLLED
  for (unsigned u = 0; u < kL1Loads; ++u) {
    at[u / 4][u % 4] = own + ((thread_index() + u * kL1Threads) & (n - 1));
  }
  float s = 0;
  ROOFTILE_ROLLED
  for (unsigned pass = 0; pass < passes; ++pass) {
    ROOFTILE_UNROLLED
    for (unsigned u = 0; u < kL1Loads / 4; ++u) {
      Float4 x[4];
      load_l1(at[u], x);
      s += x[0][0];
    }
  }
  sink(b, s, links);
}

ROOFTILE_KERNEL(stream_store, Float4, void, void) {
  fill_chunks<store>(a, n, passes);
}
ROOFTILE_KERNEL(stream_store_nt, Float4, void, void) {
  fill_chunks<store_nt>(a, n, passes);
}
ROOFTILE_KERNEL(stream_copy, Float4, const Float4, void) {
  copy_chunks<store>(a, b, n, passes);
}
ROOFTILE_KERNEL(stream_copy_nt, Float4, const Float4, void) {
  copy_chunks<store_nt>(a, b, n, passes);
}
ROOFTILE_KERNEL(stream_triad, Float4, const Float4, const Float4) {
  triad_chunks<store>(a, b, c, n, passes, links);
}
ROOFTILE_KERNEL(stream_triad_nt, Float4, const Float4, const Float4) {
  triad_chunks<store_nt>(a, b, c, n, passes, links);
}

ROOFTILE_KERNEL(update_fp64, Float4, void, void) {
  update<double>(a, n, passes, links, 0.5, 1.0, 0.0);
}
ROOFTILE_KERNEL(update_fp32, Float4, void, void) {
  update<Float2>(a, n, passes, links, Float2{0.5F, 0.5F}, Float2{1, 1}, Float2{0, 0});
}
ROOFTILE_KERNEL(update_fp16, Float4, void, void) {
  update<Half2>(a, n, passes, links, half2_of(0.5F), half2_of(1), half2_of(0));
}

/// 32 KiB of the local data share per block, read by all its threads without bank conflicts.
ROOFTILE_KERNEL(shared_load, const Float4, void, void) {
  __shared__ Float4 data[kSharedThreads * kVectors];
  ROOFTILE_UNROLLED
  for (unsigned u = 0; u < kVectors; ++u) {
    data[thread_index() + u * kSharedThreads] = a[thread_index() + u * kSharedThreads];
  }
  block_barrier();
  float s = 0;
  ROOFTILE_ROLLED
  for (unsigned pass = 0; pass < passes; ++pass) {
    Float4 x[4];
    load_shared((SharedVectors)(data + thread_index()), x);
    s += x[0][0];
  }
  sink(b, s, links);
}

/// One thread follows pointers: each load gives the address of the next. b holds the first one.
ROOFTILE_KERNEL(chase, void, unsigned long, void) {
  unsigned long p = b[0];
  ROOFTILE_ROLLED
  for (unsigned pass = 0; pass < passes; ++pass) {
    ROOFTILE_ROLLED
    for (unsigned i = 0; i < kChaseSteps / kChaseUnroll; ++i) {
      ROOFTILE_UNROLLED
      for (unsigned u = 0; u < kChaseUnroll; ++u) p = follow(p);
    }
  }
  b[0] = p;
}

ROOFTILE_KERNEL(empty, void, void, void) {
}

/// Cycles and nanoseconds of a busy loop: the clock of the compute unit.
ROOFTILE_KERNEL(observe_clock, unsigned long long, void, void) {
  const unsigned long long c0 = clock_cycles(), t0 = clock_nanoseconds();
  double x = unknown(1.0);
  ROOFTILE_ROLLED
  for (unsigned pass = 0; pass < passes; ++pass) {
    ROOFTILE_UNROLLED
    for (unsigned i = 0; i < 64; ++i) x = fma_of(x, 0.5, 0.5);
  }
  const unsigned long long c1 = clock_cycles(), t1 = clock_nanoseconds();
  a[0] = c1 - c0;
  a[1] = t1 - t0;
  sink(a, static_cast<float>(x), links);
}

#include "mfma.inc"
