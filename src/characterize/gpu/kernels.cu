// SPDX-License-Identifier: Apache-2.0
//
// The GPU micro-kernels, for CUDA and HIP. They are compiled into an image that the host loads at
// run time (gpu_device.cpp chooses grid and counts work). All take the same arguments:
//   a, b, c  arrays      n  elements of 16 bytes      passes  rounds      links  FMAs per element
// Loops are 32-bit: 64-bit index arithmetic takes issue slots from what is measured.
#include "vendor.cuh"

namespace {

constexpr unsigned kChains = 8;

/// Keeps a value alive without storing it: the condition is never true, but only the host knows.
__device__ void sink(void* out, float value, unsigned links) {
  if (links == 0x7fffffffU) *static_cast<float*>(out) = value;
}

/// Nothing is known about memory any more: a pass loads what the pass before has loaded.
__device__ void new_pass() {
  asm volatile("" : : : "memory");
}

template <Vector16 (*Load)(const Vector16*)>
__device__ float sum_slice(const Vector16* a, unsigned begin, unsigned end, unsigned step) {
  float s = 0;
#pragma unroll 4
  for (unsigned i = begin; i < end; i += step) s += fold(Load(a + i));
  return s;
}

/// ERT's kernel at the fixed point x * 0.5 + 0.5 = x of x = 1, kChains elements at a time. Without
/// links it does x * 1 + 0, which counts as the one addition of ERT's lowest intensity.
template <typename T, T (*Fma)(T, T, T)>
__device__ void update(T* a, unsigned n, unsigned passes, unsigned links, T half, T one, T zero) {
  const unsigned step = grid_size() * block_size();
  const unsigned first = block_index() * block_size() + thread_index();
  for (unsigned pass = 0; pass < passes; ++pass) {
    for (unsigned i = first; i < n; i += step * kChains) {
      T x[kChains];
#pragma unroll
      for (unsigned u = 0; u < kChains; ++u) x[u] = a[i + u * step];
      if (links == 0) {
#pragma unroll
        for (unsigned u = 0; u < kChains; ++u) x[u] = Fma(x[u], one, zero);
      }
#pragma unroll 4
      for (unsigned link = 0; link < links; ++link) {
#pragma unroll
        for (unsigned u = 0; u < kChains; ++u) x[u] = Fma(x[u], half, half);
      }
#pragma unroll
      for (unsigned u = 0; u < kChains; ++u) a[i + u * step] = x[u];
    }
    block_barrier();
  }
}

}  // namespace

extern "C" {

/// Each block reads a slice of its own again and again, through L1. The first `n` elements are
/// divided among the blocks; a slice that fits into L1 is served by it after the first pass.
__global__ void l1_load(const Vector16* a, void* b, void*, unsigned n, unsigned passes,
                        unsigned links) {
  const unsigned slice = n / grid_size();
  const Vector16* own = a + block_index() * slice;
  float s = 0;
  for (unsigned pass = 0; pass < passes; ++pass) {
    new_pass();
    s += sum_slice<load_l1>(own, thread_index(), slice, block_size());
  }
  sink(b, s, links);
}

/// All blocks read the whole set, neighbours side by side, past L1: L2, or memory behind it.
__global__ void stream_load(const Vector16* a, void* b, void*, unsigned n, unsigned passes,
                            unsigned links) {
  const unsigned step = grid_size() * block_size();
  float s = 0;
  for (unsigned pass = 0; pass < passes; ++pass) {
    new_pass();
    s += sum_slice<load_l2>(a, block_index() * block_size() + thread_index(), n, step);
  }
  sink(b, s, links);
}

__global__ void stream_store(Vector16* a, void*, void*, unsigned n, unsigned passes, unsigned) {
  const unsigned step = grid_size() * block_size();
  for (unsigned pass = 0; pass < passes; ++pass) {
    const float v = pass & 1U ? 1.0F : 0.0F;
    for (unsigned i = block_index() * block_size() + thread_index(); i < n; i += step) {
      a[i] = {v, v, v, v};
    }
  }
}

__global__ void stream_copy(Vector16* a, const Vector16* b, void*, unsigned n, unsigned passes,
                            unsigned) {
  const unsigned step = grid_size() * block_size();
  for (unsigned pass = 0; pass < passes; ++pass) {
#pragma unroll 4
    for (unsigned i = block_index() * block_size() + thread_index(); i < n; i += step) {
      a[i] = load_l2(b + i);
    }
  }
}

__global__ void stream_triad(Double2* a, const Double2* b, const Double2* c, unsigned n,
                             unsigned passes, unsigned links) {
  const unsigned step = grid_size() * block_size();
  const auto factor = static_cast<double>(links);
  for (unsigned pass = 0; pass < passes; ++pass) {
#pragma unroll 4
    for (unsigned i = block_index() * block_size() + thread_index(); i < n; i += step) {
      const Double2 x = b[i], y = c[i];
      a[i] = {fma_fp64(y.x, factor, x.x), fma_fp64(y.y, factor, x.y)};
    }
    block_barrier();
  }
}

__global__ void update_fp64(double* a, void*, void*, unsigned n, unsigned passes, unsigned links) {
  update<double, fma_fp64>(a, n, passes, links, 0.5, 1.0, 0.0);
}

__global__ void update_fp32(float* a, void*, void*, unsigned n, unsigned passes, unsigned links) {
  update<float, fma_fp32>(a, n, passes, links, 0.5F, 1.0F, 0.0F);
}

/// Two FP16 per register, as ERT's half2 kernel.
__global__ void update_fp16(Half2* a, void*, void*, unsigned n, unsigned passes, unsigned links) {
  update<Half2, fma_fp16>(a, n, passes, links, half2_of(0x3800), half2_of(0x3c00), half2_of(0));
}

#if ROOFTILE_CUDA && __CUDA_ARCH__ >= 800
__global__ void update_bf16(Half2* a, void*, void*, unsigned n, unsigned passes, unsigned links) {
  update<Half2, fma_bf16>(a, n, passes, links, half2_of(0x3f00), half2_of(0x3f80), half2_of(0));
}
#endif

/// 16 KiB of shared memory per block, read by all its threads without bank conflicts.
__global__ void shared_load(const Vector16* a, void* b, void*, unsigned, unsigned passes,
                            unsigned links) {
  __shared__ Vector16 data[1024];
  for (unsigned i = thread_index(); i < 1024; i += block_size()) data[i] = a[i];
  block_barrier();
  float s = 0;
  for (unsigned pass = 0; pass < passes; ++pass) {
    new_pass();
#pragma unroll 8
    for (unsigned i = 0; i < 1024; i += 128) {
      s += fold(load_shared(data + ((thread_index() + i) & 1023U)));
    }
  }
  sink(b, s, links);
}

/// One thread follows a cycle of indices: 4096 dependent loads per pass.
__global__ void chase(const unsigned* a, unsigned* b, void*, unsigned, unsigned passes, unsigned) {
  unsigned p = b[0];
  for (unsigned pass = 0; pass < passes; ++pass) {
#pragma unroll 8
    for (unsigned i = 0; i < 4096; ++i) p = a[per_thread(p)];
  }
  b[0] = p;
}

__global__ void empty(void*, void*, void*, unsigned, unsigned, unsigned) {
}

/// Cycles and nanoseconds of a busy loop: the clock of the multiprocessor.
__global__ void observe_clock(unsigned long long* a, void*, void*, unsigned, unsigned passes,
                              unsigned links) {
  const unsigned long long c0 = clock_cycles(), t0 = clock_nanoseconds();
  float x = 1.0F;
  for (unsigned pass = 0; pass < passes; ++pass) {
#pragma unroll 16
    for (unsigned i = 0; i < 4096; ++i) x = fma_fp32(x, 0.5F, 0.5F);
  }
  const unsigned long long c1 = clock_cycles(), t1 = clock_nanoseconds();
  a[0] = c1 - c0;
  a[1] = t1 - t0;
  sink(a, x, links);
}

}  // extern "C"

#include "mma_kernels.inc"
