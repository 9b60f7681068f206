// SPDX-License-Identifier: Apache-2.0
//
// The driver interface of a GPU vendor as one table of functions, loaded at run time: CUDA's driver
// API and HIP's module API agree in everything that is needed here but names and the numbers of
// attributes. Tests fill the table with a fake device.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "core/result.h"

namespace rooftile::characterize::gpu {

using Handle = void*;
using DevicePointer = std::uint64_t;

/// Numbers that the vendor gave to the attributes.
struct AttributeNumbers {
  int units, threads_per_unit, l2_bytes, clock_khz, major, minor, warp_size;
};

struct GpuApi {
  std::string vendor;  ///< "cuda" or "hip"
  AttributeNumbers attributes{};
  int (*init)(unsigned) = nullptr;
  int (*driver_version)(int*) = nullptr;
  int (*device_count)(int*) = nullptr;
  int (*device_name)(char*, int, int) = nullptr;
  int (*device_attribute)(int*, int, int) = nullptr;
  int (*total_memory)(std::size_t*, int) = nullptr;
  int (*retain_context)(Handle*, int) = nullptr;  ///< CUDA only
  int (*set_context)(Handle) = nullptr;           ///< CUDA only
  int (*set_device)(int) = nullptr;               ///< HIP only
  int (*load_module)(Handle*, const void*) = nullptr;
  int (*find_function)(Handle*, Handle, const char*) = nullptr;
  int (*allocate)(DevicePointer*, std::size_t) = nullptr;
  int (*release)(DevicePointer) = nullptr;
  int (*fill32)(DevicePointer, unsigned, std::size_t) = nullptr;
  int (*copy_in)(DevicePointer, const void*, std::size_t) = nullptr;
  int (*copy_out)(void*, DevicePointer, std::size_t) = nullptr;
  int (*launch)(Handle, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                Handle, void**, void**) = nullptr;
  int (*create_event)(Handle*, unsigned) = nullptr;
  int (*record_event)(Handle, Handle) = nullptr;
  int (*wait_event)(Handle) = nullptr;
  int (*event_time)(float*, Handle, Handle) = nullptr;  ///< milliseconds
  int (*synchronize)() = nullptr;
  // Links; a driver without them is measured without links.
  int (*allocate_host)(void**, std::size_t, unsigned) = nullptr;  ///< pinned, seen by all devices
  int (*release_host)(void*) = nullptr;
  int (*copy_in_async)(DevicePointer, const void*, std::size_t, Handle) = nullptr;
  int (*copy_out_async)(void*, DevicePointer, std::size_t, Handle) = nullptr;
  int (*copy_device_async)(DevicePointer, DevicePointer, std::size_t, Handle) = nullptr;
  int (*can_access_peer)(int*, int, int) = nullptr;
  int (*enable_peer_context)(Handle, unsigned) = nullptr;  ///< CUDA only
  int (*enable_peer_device)(int, unsigned) = nullptr;      ///< HIP only
  double (*host_seconds)() = nullptr;                      ///< the clock of the host
  /// How L1 and shared memory divide their array; CUDA only.
  int (*set_function_attribute)(Handle, int, int) = nullptr;
};

/// Opens libcuda.so.1 / libamdhip64.so.
Result<GpuApi> load_cuda_api();
Result<GpuApi> load_hip_api();

}  // namespace rooftile::characterize::gpu
