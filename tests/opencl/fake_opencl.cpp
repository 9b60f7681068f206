// SPDX-License-Identifier: Apache-2.0
//
// libOpenCL.so.1 with one device of one compute unit at 1 GHz. With FAKE_OPENCL=honest in the
// environment its kernels take the time of 100 GB/s and 100 GFLOP/s (FP32); without it they return
// at once, whatever they are asked to do.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "characterize/opencl/opencl_api.h"

namespace {

using namespace rooftile::characterize::opencl;

/// All handles are this one: there is one platform, one device, one kernel at a time.
struct State {
  std::uint64_t n = 0, passes = 0, nanoseconds = 0;
  std::uint32_t links = 0;
} state;

std::int32_t give(const void* value, std::size_t size, std::size_t room, void* out,
                  std::size_t* needed) {
  if (needed != nullptr) *needed = size;
  if (out != nullptr) std::memcpy(out, value, std::min(size, room));
  return 0;
}

Handle made(std::int32_t* code) {
  if (code != nullptr) *code = 0;
  return &state;
}

template <typename T>
std::int32_t give_number(T value, std::size_t room, void* out, std::size_t* needed) {
  return give(&value, sizeof(value), room, out, needed);
}

}  // namespace

extern "C" {

std::int32_t clGetPlatformIDs(std::uint32_t, Handle* out, std::uint32_t* count) {
  if (out != nullptr) *out = &state;
  if (count != nullptr) *count = 1;
  return 0;
}

std::int32_t clGetDeviceIDs(Handle, Bitfield, std::uint32_t, Handle* out, std::uint32_t* count) {
  return clGetPlatformIDs(1, out, count);
}

std::int32_t clGetDeviceInfo(Handle, std::uint32_t what, std::size_t room, void* out,
                             std::size_t* needed) {
  switch (what) {
    case kDeviceMaxComputeUnits: return give_number<std::uint32_t>(1, room, out, needed);
    case kDeviceMaxClockFrequency: return give_number<std::uint32_t>(1000, room, out, needed);
    case kDeviceMaxWorkGroupSize: return give_number<std::size_t>(64, room, out, needed);
    case kDeviceType: return give_number<Bitfield>(1U << 2U, room, out, needed);  // a GPU
    case kDeviceMaxMemAllocSize:
    case kDeviceGlobalMemSize: return give_number<std::uint64_t>(1U << 30U, room, out, needed);
    case kDeviceGlobalMemCacheSize:
      return give_number<std::uint64_t>(64U << 10U, room, out, needed);
    default: return give("fake", 5, room, out, needed);
  }
}

Handle clCreateContext(const std::intptr_t*, std::uint32_t, const Handle*, void*, void*,
                       std::int32_t* code) {
  return made(code);
}
Handle clCreateCommandQueue(Handle, Handle, Bitfield, std::int32_t* code) {
  return made(code);
}
Handle clCreateProgramWithSource(Handle, std::uint32_t, const char**, const std::size_t*,
                                 std::int32_t* code) {
  return made(code);
}
std::int32_t clBuildProgram(Handle, std::uint32_t, const Handle*, const char*, void*, void*) {
  return 0;
}
std::int32_t clGetProgramBuildInfo(Handle, Handle, std::uint32_t, std::size_t, void*,
                                   std::size_t*) {
  return 0;
}
Handle clCreateKernel(Handle, const char*, std::int32_t* code) {
  return made(code);
}
Handle clCreateBuffer(Handle, Bitfield, std::size_t, void*, std::int32_t* code) {
  return made(code);
}

std::int32_t clSetKernelArg(Handle, std::uint32_t index, std::size_t size, const void* value) {
  if (index == 3) std::memcpy(&state.n, value, size);
  if (index == 4) std::memcpy(&state.passes, value, size);
  if (index == 5) std::memcpy(&state.links, value, size);
  return 0;
}

std::int32_t clEnqueueNDRangeKernel(Handle, Handle, std::uint32_t, const std::size_t*,
                                    const std::size_t*, const std::size_t*, std::uint32_t,
                                    const Handle*, Handle* event) {
  const char* mode = std::getenv("FAKE_OPENCL");
  state.nanoseconds = 0;
  if (mode != nullptr && std::string_view(mode) == "honest") {
    // Vectors of 32 bytes, loaded and stored; 8 lanes with 2 FLOP per link.
    const std::uint64_t of_a_vector = std::max<std::uint64_t>(64, 16 * std::uint64_t{state.links});
    state.nanoseconds = state.n * state.passes * of_a_vector / 100;
  }
  if (event != nullptr) *event = &state;
  return 0;
}

std::int32_t clEnqueueFillBuffer(Handle, Handle, const void*, std::size_t, std::size_t, std::size_t,
                                 std::uint32_t, const Handle*, Handle*) {
  return 0;
}
std::int32_t clEnqueueWriteBuffer(Handle, Handle, std::uint32_t, std::size_t, std::size_t,
                                  const void*, std::uint32_t, const Handle*, Handle*) {
  return 0;
}
std::int32_t clFinish(Handle) {
  return 0;
}

std::int32_t clGetEventProfilingInfo(Handle, std::uint32_t what, std::size_t room, void* out,
                                     std::size_t* needed) {
  return give_number<std::uint64_t>(what == kProfilingCommandEnd ? state.nanoseconds : 0, room, out,
                                    needed);
}

std::int32_t clReleaseEvent(Handle) {
  return 0;
}
std::int32_t clReleaseMemObject(Handle) {
  return 0;
}
std::int32_t clReleaseKernel(Handle) {
  return 0;
}
std::int32_t clReleaseProgram(Handle) {
  return 0;
}
std::int32_t clReleaseCommandQueue(Handle) {
  return 0;
}
std::int32_t clReleaseContext(Handle) {
  return 0;
}

}  // extern "C"
