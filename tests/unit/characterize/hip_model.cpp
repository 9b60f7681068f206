// SPDX-License-Identifier: Apache-2.0
// kernels.hip compiled for this processor: what amd.inc has for a GPU counts here. Products are not
// part of it: what their loops contain is in the machine-code summaries (tests/gpu).
#include <cstring>
#include <vector>

#include "unit/characterize/kernel_work.h"

namespace {

struct Float4 {
  float v[4];
  float& operator[](int i) { return v[i]; }
};
struct Float2 {
  float v[2];
};
struct Double2 {
  double v[2];
  double& operator[](int i) { return v[i]; }
  const double& operator[](int i) const { return v[i]; }
};
struct Half2 {
  unsigned short v[2];
};

rooftile::characterize::gpu::KernelWork work;
const rooftile::characterize::gpu::ThreadLaunch* now = nullptr;

unsigned thread_index() {
  return now->thread;
}
unsigned block_index() {
  return now->block;
}
unsigned grid_size() {
  return now->blocks;
}
void block_barrier() {
}

/// Nothing is read: the arrays of a modelled GPU have addresses but no content.
void load(const Float4* const (&p)[4], Float4 (&x)[4], double& bytes) {
  for (int u = 0; u < 4; ++u) {
    x[u] = {};
    work.touch(reinterpret_cast<std::uint64_t>(p[u]), 16);
  }
  bytes += 64;
  work.loads += 4;
  work.waits += 1;
}
void load_l1(const Float4* const (&p)[4], Float4 (&x)[4]) {
  load(p, x, work.through_l1);
}
void load_l2(const Float4* const (&p)[4], Float4 (&x)[4]) {
  load(p, x, work.past_l1);
}
using SharedVectors = const Float4*;
void load_shared(SharedVectors, Float4 (&x)[4]) {
  for (Float4& v : x) v = {};
  work.shared += 64;
  work.loads += 4;
  work.waits += 1;
}
void store(Float4* p, Float4) {
  work.touch(reinterpret_cast<std::uint64_t>(p), 16);
  work.stored += 16;
}
void store_nt(Float4* p, Float4) {
  work.touch(reinterpret_cast<std::uint64_t>(p), 16);
  work.streamed += 16;
}
unsigned long follow(unsigned long address) {
  work.touch(address, 8);
  work.through_l1 += 8;
  work.loads += 1;
  work.waits += 1;
  return now->read64(address);
}
double unknown(double value) {
  return value;
}
unsigned long long clock_cycles() {
  static unsigned long long t = 0;
  return t += 2000;
}
unsigned long long clock_nanoseconds() {
  static unsigned long long t = 0;
  return t += 1000;
}
double fma_of(double x, double, double) {
  work.flops["fp64"] += 2;
  work.instructions += 1;
  return x;
}
Float2 fma_of(Float2 x, Float2, Float2) {
  work.flops["fp32"] += 4;
  work.instructions += 1;
  return x;
}
Half2 half2_of(float) {
  return {};
}
Half2 fma_of(Half2 x, Half2, Half2) {
  work.flops["fp16"] += 4;
  work.instructions += 1;
  return x;
}

}  // namespace

#define ROOFTILE_MODEL
#define __global__
#define __device__
#define __shared__ static
#define ROOFTILE_ROLLED
#define ROOFTILE_UNROLLED
#include "characterize/gpu/kernels.hip"

namespace rooftile::characterize::gpu {
namespace {

template <typename A, typename B, typename C>
void call(void (*kernel)(A*, B*, C*, unsigned, unsigned, unsigned), const ThreadLaunch& launch) {
  const auto array = [&](int i) { return reinterpret_cast<void*>(launch.arrays[i]); };
  kernel(static_cast<A*>(array(0)), static_cast<B*>(array(1)), static_cast<C*>(array(2)), launch.n,
         launch.passes, launch.links);
}

}  // namespace

bool has_hip_kernel(const std::string& kernel) {
  return kernel.find("mfma") == std::string::npos && kernel.find("smfmac") == std::string::npos &&
         kernel.find("_m") == std::string::npos && kernel != "update_bf16";
}

KernelWork run_hip(const std::string& kernel, const ThreadLaunch& launch) {
  work = {};
  now = &launch;
  // These read or write an array themselves: they get one that exists.
  std::uint64_t cells[4] = {};
  std::vector<Float4> vectors(4096);
  ThreadLaunch local = launch;
  if (kernel == "chase") {
    cells[0] = launch.read64(launch.arrays[1]);
    local.arrays[1] = reinterpret_cast<std::uint64_t>(cells);
  }
  if (kernel == "observe_clock") local.arrays[0] = reinterpret_cast<std::uint64_t>(cells);
  if (kernel == "shared_load") local.arrays[0] = reinterpret_cast<std::uint64_t>(vectors.data());
#define ROOFTILE_CALL(NAME) \
  if (kernel == #NAME) call(::NAME, local);
  ROOFTILE_CALL(stream_load)
  ROOFTILE_CALL(l1_load)
  ROOFTILE_CALL(stream_store)
  ROOFTILE_CALL(stream_store_nt)
  ROOFTILE_CALL(stream_copy)
  ROOFTILE_CALL(stream_copy_nt)
  ROOFTILE_CALL(stream_triad)
  ROOFTILE_CALL(stream_triad_nt)
  ROOFTILE_CALL(update_fp64)
  ROOFTILE_CALL(update_fp32)
  ROOFTILE_CALL(update_fp16)
  ROOFTILE_CALL(shared_load)
  ROOFTILE_CALL(chase)
  ROOFTILE_CALL(observe_clock)
  ROOFTILE_CALL(empty)
#undef ROOFTILE_CALL
  if (kernel == "observe_clock") {
    launch.write64(launch.arrays[0], cells[0]);
    launch.write64(launch.arrays[0] + 8, cells[1]);
  }
  if (kernel == "chase") launch.write64(launch.arrays[1], cells[0]);
  return work;
}

}  // namespace rooftile::characterize::gpu
