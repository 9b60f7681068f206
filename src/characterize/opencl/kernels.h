// SPDX-License-Identifier: Apache-2.0
//
// The micro-kernels in OpenCL C, for one vector type at a time. They use explicit vector types: on
// a processor (PoCL) work-items with an inner loop are not vectorised across work-items, so scalar
// code would show an eighth of the machine; on a GPU wide types do no harm.
//
// VEC is the vector type, LANES its number of elements, ONE a literal of the element type. Arrays
// are walked in steps of the number of work-items (neighbouring work-items touch neighbouring
// vectors), the passes lie inside one launch, so that small sets stay in their cache.
#pragma once

namespace rooftile::characterize::opencl {

inline constexpr const char* kSource = R"(
#ifdef FORMAT_FP16
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
#endif
#ifdef FORMAT_FP64
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#endif
#if BLOCKED
/* A processor: every work-item walks a block of its own, as a thread would. */
#define FIRST (n / get_global_size(0) * get_global_id(0))
#define LAST (FIRST + n / get_global_size(0))
#define STEP 1
#else
#define FIRST get_global_id(0)
#define LAST n
#define STEP get_global_size(0)
#endif

__kernel void load_kernel(__global const VEC* a, __global VEC* b, __global VEC* c, ulong n,
                          ulong passes, uint links) {
  VEC s0 = (VEC)(0), s1 = (VEC)(0), s2 = (VEC)(0), s3 = (VEC)(0);
  for (ulong pass = 0; pass < passes; ++pass) {
    for (ulong i = FIRST; i < LAST; i += 4 * STEP) {
      s0 += a[i];
      s1 += a[i + STEP];
      s2 += a[i + 2 * STEP];
      s3 += a[i + 3 * STEP];
    }
    barrier(CLK_GLOBAL_MEM_FENCE);
  }
  s0 += s1 + s2 + s3;
  /* Never true, but the compiler cannot know: the sums must be computed. */
  if (links == 77) b[get_global_id(0)] = s0;
}

__kernel void store_kernel(__global VEC* a, __global VEC* b, __global VEC* c, ulong n,
                           ulong passes, uint links) {
  for (ulong pass = 0; pass < passes; ++pass) {
    const VEC value = (VEC)(ONE) + (VEC)(pass & 1);
    for (ulong i = FIRST; i < LAST; i += STEP) a[i] = value;
    barrier(CLK_GLOBAL_MEM_FENCE);
  }
}

__kernel void copy_kernel(__global VEC* a, __global const VEC* b, __global VEC* c, ulong n,
                          ulong passes, uint links) {
  for (ulong pass = 0; pass < passes; ++pass) {
    for (ulong i = FIRST; i < LAST; i += STEP) a[i] = b[i];
    barrier(CLK_GLOBAL_MEM_FENCE);
  }
}

__kernel void triad_kernel(__global VEC* a, __global const VEC* b, __global const VEC* c, ulong n,
                           ulong passes, uint links) {
  const VEC factor = (VEC)(links);
  for (ulong pass = 0; pass < passes; ++pass) {
    for (ulong i = FIRST; i < LAST; i += STEP) a[i] = fma(c[i], factor, b[i]);
    barrier(CLK_GLOBAL_MEM_FENCE);
  }
}

/* ERT's kernel at the fixed point x * 0.5 + 0.5 = x of x = 1; links = 0 means one addition. Eight
   vectors at a time are eight independent chains. */
__kernel void update_kernel(__global VEC* a, __global VEC* b, __global VEC* c, ulong n,
                            ulong passes, uint links) {
  const VEC h = (VEC)(ONE) / (VEC)(ONE + ONE);
  const VEC zero = (VEC)(0);
  for (ulong pass = 0; pass < passes; ++pass) {
    for (ulong i = FIRST; i < LAST; i += 8 * STEP) {
      VEC x0 = a[i], x1 = a[i + STEP], x2 = a[i + 2 * STEP], x3 = a[i + 3 * STEP];
      VEC x4 = a[i + 4 * STEP], x5 = a[i + 5 * STEP], x6 = a[i + 6 * STEP], x7 = a[i + 7 * STEP];
      if (links == 0) {
        x0 += zero; x1 += zero; x2 += zero; x3 += zero;
        x4 += zero; x5 += zero; x6 += zero; x7 += zero;
      }
      for (uint l = 0; l < links; ++l) {
        x0 = fma(x0, h, h); x1 = fma(x1, h, h); x2 = fma(x2, h, h); x3 = fma(x3, h, h);
        x4 = fma(x4, h, h); x5 = fma(x5, h, h); x6 = fma(x6, h, h); x7 = fma(x7, h, h);
      }
      a[i] = x0; a[i + STEP] = x1; a[i + 2 * STEP] = x2; a[i + 3 * STEP] = x3;
      a[i + 4 * STEP] = x4; a[i + 5 * STEP] = x5; a[i + 6 * STEP] = x6; a[i + 7 * STEP] = x7;
    }
    barrier(CLK_GLOBAL_MEM_FENCE);
  }
}

__kernel void launch_kernel(__global VEC* a, __global VEC* b, __global VEC* c, ulong n,
                            ulong passes, uint links) {
  if (n == 77) a[0] = (VEC)(ONE);
}

__kernel void chase_kernel(__global const ulong* a, __global ulong* b, __global ulong* c, ulong n,
                           ulong passes, uint links) {
  ulong p = b[0];
  for (ulong i = 0; i < passes * 4096; ++i) p = a[p];
  b[0] = p;
}
)";

}  // namespace rooftile::characterize::opencl
