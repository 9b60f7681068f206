// SPDX-License-Identifier: Apache-2.0
#include "characterize/opencl/opencl_api.h"

#include <fmt/format.h>

namespace rooftile::characterize::opencl {

Result<Api> load_api() {
  auto library = DynamicLibrary::open({"libOpenCL.so.1", "libOpenCL.so"});
  if (!library) {
    return unsupported("opencl", "there is no OpenCL loader (libOpenCL.so.1)",
                       "install ocl-icd-libopencl1 and the OpenCL driver of your device");
  }
  Api api{};
  ROOFTILE_CHECK(library->find("clGetPlatformIDs", api.clGetPlatformIDs));
  ROOFTILE_CHECK(library->find("clGetDeviceIDs", api.clGetDeviceIDs));
  ROOFTILE_CHECK(library->find("clGetDeviceInfo", api.clGetDeviceInfo));
  ROOFTILE_CHECK(library->find("clCreateContext", api.clCreateContext));
  ROOFTILE_CHECK(library->find("clCreateCommandQueue", api.clCreateCommandQueue));
  ROOFTILE_CHECK(library->find("clCreateProgramWithSource", api.clCreateProgramWithSource));
  ROOFTILE_CHECK(library->find("clBuildProgram", api.clBuildProgram));
  ROOFTILE_CHECK(library->find("clGetProgramBuildInfo", api.clGetProgramBuildInfo));
  ROOFTILE_CHECK(library->find("clCreateKernel", api.clCreateKernel));
  ROOFTILE_CHECK(library->find("clCreateBuffer", api.clCreateBuffer));
  ROOFTILE_CHECK(library->find("clSetKernelArg", api.clSetKernelArg));
  ROOFTILE_CHECK(library->find("clEnqueueNDRangeKernel", api.clEnqueueNDRangeKernel));
  ROOFTILE_CHECK(library->find("clEnqueueFillBuffer", api.clEnqueueFillBuffer));
  ROOFTILE_CHECK(library->find("clEnqueueWriteBuffer", api.clEnqueueWriteBuffer));
  ROOFTILE_CHECK(library->find("clFinish", api.clFinish));
  ROOFTILE_CHECK(library->find("clGetEventProfilingInfo", api.clGetEventProfilingInfo));
  ROOFTILE_CHECK(library->find("clReleaseEvent", api.clReleaseEvent));
  ROOFTILE_CHECK(library->find("clReleaseMemObject", api.clReleaseMemObject));
  ROOFTILE_CHECK(library->find("clReleaseKernel", api.clReleaseKernel));
  ROOFTILE_CHECK(library->find("clReleaseProgram", api.clReleaseProgram));
  ROOFTILE_CHECK(library->find("clReleaseCommandQueue", api.clReleaseCommandQueue));
  ROOFTILE_CHECK(library->find("clReleaseContext", api.clReleaseContext));
  return api;
}

std::string error_name(std::int32_t code) {
  switch (code) {
    case -1: return "CL_DEVICE_NOT_FOUND";
    case -2: return "CL_DEVICE_NOT_AVAILABLE";
    case -4: return "CL_MEM_OBJECT_ALLOCATION_FAILURE";
    case -5: return "CL_OUT_OF_RESOURCES";
    case -6: return "CL_OUT_OF_HOST_MEMORY";
    case -11: return "CL_BUILD_PROGRAM_FAILURE";
    case -1001: return "CL_PLATFORM_NOT_FOUND";
    default: return fmt::format("OpenCL error {}", code);
  }
}

}  // namespace rooftile::characterize::opencl
