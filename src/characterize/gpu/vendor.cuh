// SPDX-License-Identifier: Apache-2.0
//
// What differs between CUDA and HIP device code, and nothing else: the only place in the project
// with vendor #ifdefs. Only kernels.cu includes it; it must not need any header of a toolkit, so
// that plain Clang can check the AMD side too.
#pragma once

#if defined(__CUDA_ARCH__) || defined(__CUDACC__)
#define ROOFTILE_CUDA 1
#else
#define ROOFTILE_CUDA 0
#ifndef __global__
#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
#define __shared__ __attribute__((shared))
#endif
#endif

namespace {

struct alignas(16) Vector16 {
  float x, y, z, w;
};
struct alignas(16) Double2 {
  double x, y;
};

#if ROOFTILE_CUDA

__device__ inline unsigned thread_index() {
  return threadIdx.x;
}
__device__ inline unsigned block_index() {
  return blockIdx.x;
}
__device__ inline unsigned block_size() {
  return blockDim.x;
}
__device__ inline unsigned grid_size() {
  return gridDim.x;
}
__device__ inline void block_barrier() {
  __syncthreads();
}

// .ca: cached in L1 and L2; .cg: cached in L2 only. `volatile` keeps every one of them.
__device__ inline Vector16 load_l1(const Vector16* p) {
  Vector16 v;
  asm volatile("ld.global.ca.v4.f32 {%0, %1, %2, %3}, [%4];"
               : "=f"(v.x), "=f"(v.y), "=f"(v.z), "=f"(v.w)
               : "l"(p));
  return v;
}
__device__ inline Vector16 load_l2(const Vector16* p) {
  Vector16 v;
  asm volatile("ld.global.cg.v4.f32 {%0, %1, %2, %3}, [%4];"
               : "=f"(v.x), "=f"(v.y), "=f"(v.z), "=f"(v.w)
               : "l"(p));
  return v;
}
__device__ inline Vector16 load_shared(const Vector16* p) {
  Vector16 v;
  asm volatile("ld.shared.v4.f32 {%0, %1, %2, %3}, [%4];"
               : "=f"(v.x), "=f"(v.y), "=f"(v.z), "=f"(v.w)
               : "r"(static_cast<unsigned>(__cvta_generic_to_shared(p))));
  return v;
}
__device__ inline unsigned per_thread(unsigned value) {
  return value;
}
/// The loads above are volatile and load all four words: one addition is enough.
__device__ inline float fold(const Vector16& v) {
  return v.x;
}
__device__ inline unsigned long long clock_cycles() {
  unsigned long long t;
  asm volatile("mov.u64 %0, %%clock64;" : "=l"(t));
  return t;
}
__device__ inline unsigned long long clock_nanoseconds() {
  unsigned long long t;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(t));
  return t;
}
__device__ inline double fma_fp64(double a, double b, double c) {
  return __fma_rn(a, b, c);
}
__device__ inline float fma_fp32(float a, float b, float c) {
  return __fmaf_rn(a, b, c);
}
using Half2 = unsigned;  // two FP16 in a register
__device__ inline Half2 half2_of(unsigned short bits) {
  return bits | (unsigned{bits} << 16U);
}
__device__ inline Half2 fma_fp16(Half2 a, Half2 b, Half2 c) {
  Half2 d;
  asm("fma.rn.f16x2 %0, %1, %2, %3;" : "=r"(d) : "r"(a), "r"(b), "r"(c));
  return d;
}
#if __CUDA_ARCH__ >= 800
__device__ inline Half2 fma_bf16(Half2 a, Half2 b, Half2 c) {
  Half2 d;
  asm("fma.rn.bf16x2 %0, %1, %2, %3;" : "=r"(d) : "r"(a), "r"(b), "r"(c));
  return d;
}
#endif

#else  // HIP

__device__ inline unsigned thread_index() {
  return __builtin_amdgcn_workitem_id_x();
}
__device__ inline unsigned block_index() {
  return __builtin_amdgcn_workgroup_id_x();
}
using DispatchWord = const __attribute__((address_space(4))) unsigned;
/// The AQL dispatch packet: workgroup_size_x is the low half of word 1, grid_size_x (in work-items)
/// is word 3.
__device__ inline DispatchWord* dispatch_packet() {
  return (DispatchWord*)__builtin_amdgcn_dispatch_ptr();
}
__device__ inline unsigned block_size() {
  return dispatch_packet()[1] & 0xffffU;
}
__device__ inline unsigned grid_size() {
  return dispatch_packet()[3] / block_size();
}
__device__ inline void block_barrier() {
  __builtin_amdgcn_s_barrier();
}

// Ordinary loads: volatile ones go past L1 and, through a generic pointer, past the local data
// share. What is loaded must be used (fold), and new_pass() makes the next pass load it again.
using Float4 = float __attribute__((ext_vector_type(4)));
__device__ inline Vector16 load_l1(const Vector16* p) {
  return *p;
}
__device__ inline Vector16 load_l2(const Vector16* p) {
  // Non-temporal loads do not stay in the vector L1 cache.
  const Float4 v = __builtin_nontemporal_load(reinterpret_cast<const Float4*>(p));
  return {v.x, v.y, v.z, v.w};
}
__device__ inline Vector16 load_shared(const Vector16* p) {
  return *p;
}
/// A uniform address would be loaded through the scalar cache.
__device__ inline unsigned per_thread(unsigned value) {
  asm volatile("" : "+v"(value));
  return value;
}
/// All four words count: the compiler would not load the others.
__device__ inline float fold(const Vector16& v) {
  return (v.x + v.y) + (v.z + v.w);
}
__device__ inline unsigned long long clock_cycles() {
  return __builtin_readcyclecounter();
}
// A counter of 100 MHz on the Instinct parts.
__device__ inline unsigned long long clock_nanoseconds() {
  return __builtin_amdgcn_s_memrealtime() * 10;
}
__device__ inline double fma_fp64(double a, double b, double c) {
  return __builtin_fma(a, b, c);
}
__device__ inline float fma_fp32(float a, float b, float c) {
  return __builtin_fmaf(a, b, c);
}
using Half2 = _Float16 __attribute__((ext_vector_type(2)));
__device__ inline Half2 half2_of(unsigned short bits) {
  const auto h = __builtin_bit_cast(_Float16, bits);
  return {h, h};
}
__device__ inline Half2 fma_fp16(Half2 a, Half2 b, Half2 c) {
  return __builtin_elementwise_fma(a, b, c);
}

#endif

}  // namespace
