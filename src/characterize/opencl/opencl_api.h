// SPDX-License-Identifier: Apache-2.0
//
// The part of the OpenCL 1.2 interface that is used here, loaded at run time. The declarations are
// the standard's, written out so that no OpenCL package is needed to build; a test compares the
// constants with <CL/cl.h> where it is installed.
#pragma once

#include <cstddef>
#include <cstdint>

#include "characterize/dynamic_library.h"
#include "core/result.h"

namespace rooftile::characterize::opencl {

using Handle = void*;  // cl_platform_id, cl_device_id, cl_context, ...
using Bitfield = std::uint64_t;

inline constexpr std::uint32_t kDeviceMaxComputeUnits = 0x1002;
inline constexpr std::uint32_t kDeviceMaxWorkGroupSize = 0x1004;
inline constexpr std::uint32_t kDeviceMaxClockFrequency = 0x100C;
inline constexpr std::uint32_t kDeviceMaxMemAllocSize = 0x1010;
inline constexpr std::uint32_t kDeviceGlobalMemCacheSize = 0x101E;
inline constexpr std::uint32_t kDeviceGlobalMemSize = 0x101F;
inline constexpr std::uint32_t kDeviceLocalMemSize = 0x1023;
inline constexpr std::uint32_t kDeviceType = 0x1000;
inline constexpr std::uint32_t kDeviceName = 0x102B;
inline constexpr std::uint32_t kDriverVersion = 0x102D;
inline constexpr std::uint32_t kDeviceVersion = 0x102F;
inline constexpr std::uint32_t kDeviceExtensions = 0x1030;
inline constexpr std::uint32_t kProgramBuildLog = 0x1183;
inline constexpr std::uint32_t kProfilingCommandStart = 0x1282;
inline constexpr std::uint32_t kProfilingCommandEnd = 0x1283;
inline constexpr Bitfield kDeviceTypeCpu = 1U << 1U;
inline constexpr Bitfield kDeviceTypeAll = 0xFFFFFFFF;
inline constexpr Bitfield kMemReadWrite = 1;
inline constexpr Bitfield kQueueProfilingEnable = 1U << 1U;

struct Api {
  std::int32_t (*clGetPlatformIDs)(std::uint32_t, Handle*, std::uint32_t*);
  std::int32_t (*clGetDeviceIDs)(Handle, Bitfield, std::uint32_t, Handle*, std::uint32_t*);
  std::int32_t (*clGetDeviceInfo)(Handle, std::uint32_t, std::size_t, void*, std::size_t*);
  Handle (*clCreateContext)(const std::intptr_t*, std::uint32_t, const Handle*, void*, void*,
                            std::int32_t*);
  Handle (*clCreateCommandQueue)(Handle, Handle, Bitfield, std::int32_t*);
  Handle (*clCreateProgramWithSource)(Handle, std::uint32_t, const char**, const std::size_t*,
                                      std::int32_t*);
  std::int32_t (*clBuildProgram)(Handle, std::uint32_t, const Handle*, const char*, void*, void*);
  std::int32_t (*clGetProgramBuildInfo)(Handle, Handle, std::uint32_t, std::size_t, void*,
                                        std::size_t*);
  Handle (*clCreateKernel)(Handle, const char*, std::int32_t*);
  Handle (*clCreateBuffer)(Handle, Bitfield, std::size_t, void*, std::int32_t*);
  std::int32_t (*clSetKernelArg)(Handle, std::uint32_t, std::size_t, const void*);
  std::int32_t (*clEnqueueNDRangeKernel)(Handle, Handle, std::uint32_t, const std::size_t*,
                                         const std::size_t*, const std::size_t*, std::uint32_t,
                                         const Handle*, Handle*);
  std::int32_t (*clEnqueueFillBuffer)(Handle, Handle, const void*, std::size_t, std::size_t,
                                      std::size_t, std::uint32_t, const Handle*, Handle*);
  std::int32_t (*clEnqueueWriteBuffer)(Handle, Handle, std::uint32_t, std::size_t, std::size_t,
                                       const void*, std::uint32_t, const Handle*, Handle*);
  std::int32_t (*clFinish)(Handle);
  std::int32_t (*clGetEventProfilingInfo)(Handle, std::uint32_t, std::size_t, void*, std::size_t*);
  std::int32_t (*clReleaseEvent)(Handle);
  std::int32_t (*clReleaseMemObject)(Handle);
  std::int32_t (*clReleaseKernel)(Handle);
  std::int32_t (*clReleaseProgram)(Handle);
  std::int32_t (*clReleaseCommandQueue)(Handle);
  std::int32_t (*clReleaseContext)(Handle);
};

Result<Api> load_api();

/// "CL_OUT_OF_RESOURCES (-5)" for the usual ones, else the number.
std::string error_name(std::int32_t code);

}  // namespace rooftile::characterize::opencl
