// SPDX-License-Identifier: Apache-2.0
#include "characterize/backends.h"

#include "characterize/cpu/cpu_device.h"
#include "characterize/gpu/gpu_device.h"
#include "characterize/opencl/opencl_device.h"
#include "core/text.h"

namespace rooftile::characterize {

Result<std::unique_ptr<Device>> make_device(const BackendOptions& options, const Catalog& catalog) {
  if (options.backend == "cpu") {
    return cpu::make_cpu_device({.threads = options.threads,
                                 .isa = options.isa,
                                 .part = options.part,
                                 .parts = options.parts});
  }
  if (options.backend == "opencl") return opencl::make_opencl_device(options.device, catalog);
  if (options.backend == "cuda") return gpu::make_cuda_device(options.device, catalog);
  if (options.backend == "hip") return gpu::make_hip_device(options.device, catalog);
  return usage_error("unknown back end \"" + printable(options.backend) + "\"",
                     did_you_mean(options.backend, kBackends, "one of"));
}

}  // namespace rooftile::characterize
