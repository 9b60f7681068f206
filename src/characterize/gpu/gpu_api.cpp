// SPDX-License-Identifier: Apache-2.0
#include "characterize/gpu/gpu_api.h"

#include <chrono>

#include "characterize/dynamic_library.h"

namespace rooftile::characterize::gpu {

namespace {

double steady_seconds() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration<double>(now).count();
}

}  // namespace

Result<GpuApi> load_cuda_api() {
  auto library = DynamicLibrary::open({"libcuda.so.1", "libcuda.so"});
  if (!library) {
    return unsupported("cuda", "there is no NVIDIA driver (libcuda.so.1)",
                       "install the driver, or choose --backend cpu or opencl");
  }
  GpuApi api;
  api.vendor = "cuda";
  api.host_seconds = steady_seconds;
  // CUdevice_attribute of the CUDA driver API.
  api.attributes = {.units = 16,
                    .threads_per_unit = 39,
                    .l2_bytes = 38,
                    .clock_khz = 13,
                    .major = 75,
                    .minor = 76,
                    .warp_size = 10};
  ROOFTILE_CHECK(library->find("cuInit", api.init));
  ROOFTILE_CHECK(library->find("cuDriverGetVersion", api.driver_version));
  ROOFTILE_CHECK(library->find("cuDeviceGetCount", api.device_count));
  ROOFTILE_CHECK(library->find("cuDeviceGetName", api.device_name));
  ROOFTILE_CHECK(library->find("cuDeviceGetAttribute", api.device_attribute));
  ROOFTILE_CHECK(library->find("cuDeviceTotalMem_v2", api.total_memory));
  ROOFTILE_CHECK(library->find("cuDevicePrimaryCtxRetain", api.retain_context));
  ROOFTILE_CHECK(library->find("cuCtxSetCurrent", api.set_context));
  ROOFTILE_CHECK(library->find("cuModuleLoadData", api.load_module));
  ROOFTILE_CHECK(library->find("cuModuleGetFunction", api.find_function));
  ROOFTILE_CHECK(library->find("cuMemAlloc_v2", api.allocate));
  ROOFTILE_CHECK(library->find("cuMemFree_v2", api.release));
  ROOFTILE_CHECK(library->find("cuMemsetD32_v2", api.fill32));
  ROOFTILE_CHECK(library->find("cuMemcpyHtoD_v2", api.copy_in));
  ROOFTILE_CHECK(library->find("cuMemcpyDtoH_v2", api.copy_out));
  ROOFTILE_CHECK(library->find("cuLaunchKernel", api.launch));
  ROOFTILE_CHECK(library->find("cuEventCreate", api.create_event));
  ROOFTILE_CHECK(library->find("cuEventRecord", api.record_event));
  ROOFTILE_CHECK(library->find("cuEventSynchronize", api.wait_event));
  ROOFTILE_CHECK(library->find("cuEventElapsedTime", api.event_time));
  ROOFTILE_CHECK(library->find("cuCtxSynchronize", api.synchronize));
  ROOFTILE_CHECK(library->find("cuMemHostAlloc", api.allocate_host));
  ROOFTILE_CHECK(library->find("cuMemFreeHost", api.release_host));
  ROOFTILE_CHECK(library->find("cuMemcpyHtoDAsync_v2", api.copy_in_async));
  ROOFTILE_CHECK(library->find("cuMemcpyDtoHAsync_v2", api.copy_out_async));
  ROOFTILE_CHECK(library->find("cuMemcpyDtoDAsync_v2", api.copy_device_async));
  ROOFTILE_CHECK(library->find("cuDeviceCanAccessPeer", api.can_access_peer));
  ROOFTILE_CHECK(library->find("cuCtxEnablePeerAccess", api.enable_peer_context));
  ROOFTILE_CHECK(library->find("cuFuncSetAttribute", api.set_function_attribute));
  return api;
}

Result<GpuApi> load_hip_api() {
  auto library = DynamicLibrary::open({"libamdhip64.so", "libamdhip64.so.6", "libamdhip64.so.5"});
  if (!library) {
    return unsupported("hip", "there is no HIP runtime (libamdhip64.so)",
                       "install ROCm, or choose --backend cpu or opencl");
  }
  GpuApi api;
  api.vendor = "hip";
  api.host_seconds = steady_seconds;
  // hipDeviceAttribute_t of HIP 5 and 6.
  api.attributes = {.units = 63,
                    .threads_per_unit = 57,
                    .l2_bytes = 19,
                    .clock_khz = 5,
                    .major = 23,
                    .minor = 61,
                    .warp_size = 87};
  ROOFTILE_CHECK(library->find("hipInit", api.init));
  ROOFTILE_CHECK(library->find("hipDriverGetVersion", api.driver_version));
  ROOFTILE_CHECK(library->find("hipGetDeviceCount", api.device_count));
  ROOFTILE_CHECK(library->find("hipDeviceGetName", api.device_name));
  ROOFTILE_CHECK(library->find("hipDeviceGetAttribute", api.device_attribute));
  ROOFTILE_CHECK(library->find("hipDeviceTotalMem", api.total_memory));
  ROOFTILE_CHECK(library->find("hipSetDevice", api.set_device));
  ROOFTILE_CHECK(library->find("hipModuleLoadData", api.load_module));
  ROOFTILE_CHECK(library->find("hipModuleGetFunction", api.find_function));
  ROOFTILE_CHECK(library->find("hipMalloc", api.allocate));
  ROOFTILE_CHECK(library->find("hipFree", api.release));
  ROOFTILE_CHECK(library->find("hipMemsetD32", api.fill32));
  ROOFTILE_CHECK(library->find("hipMemcpyHtoD", api.copy_in));
  ROOFTILE_CHECK(library->find("hipMemcpyDtoH", api.copy_out));
  ROOFTILE_CHECK(library->find("hipModuleLaunchKernel", api.launch));
  ROOFTILE_CHECK(library->find("hipEventCreateWithFlags", api.create_event));
  ROOFTILE_CHECK(library->find("hipEventRecord", api.record_event));
  ROOFTILE_CHECK(library->find("hipEventSynchronize", api.wait_event));
  ROOFTILE_CHECK(library->find("hipEventElapsedTime", api.event_time));
  ROOFTILE_CHECK(library->find("hipDeviceSynchronize", api.synchronize));
  ROOFTILE_CHECK(library->find("hipHostMalloc", api.allocate_host));
  ROOFTILE_CHECK(library->find("hipHostFree", api.release_host));
  ROOFTILE_CHECK(library->find("hipMemcpyHtoDAsync", api.copy_in_async));
  ROOFTILE_CHECK(library->find("hipMemcpyDtoHAsync", api.copy_out_async));
  ROOFTILE_CHECK(library->find("hipMemcpyDtoDAsync", api.copy_device_async));
  ROOFTILE_CHECK(library->find("hipDeviceCanAccessPeer", api.can_access_peer));
  ROOFTILE_CHECK(library->find("hipDeviceEnablePeerAccess", api.enable_peer_device));
  return api;
}

}  // namespace rooftile::characterize::gpu
