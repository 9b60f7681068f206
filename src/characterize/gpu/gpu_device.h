// SPDX-License-Identifier: Apache-2.0
//
// A GPU behind CUDA or HIP as a Device. The kernels have been compiled and their instructions
// checked, the host side has been tested with a fake driver; none of it has been run on a GPU here.
//
// A format is offered when the image that the driver loaded has the kernel; kernels exist only for
// architectures with their instruction (mma_kernels.inc).
//
// Known limits: mma.sync does not reach the full rate of Hopper (wgmma) and of data-centre
// Blackwell (tcgen05), so their tensor ceilings come out as lower bounds, and a note says so; the
// size of L1 is that of the architecture, because no driver call tells it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "characterize/device.h"
#include "characterize/gpu/gpu_api.h"
#include "core/catalog.h"
#include "core/result.h"

namespace rooftile::characterize::gpu {

/// FLOPs of one product of a warp (wavefront) from the shape in the kernel's name, "..._m16n8k16";
/// nothing for another name.
std::optional<double> product_flops(std::string_view kernel);

/// `image` is what cuda_image() or hip_image() gives; tests pass any text. The catalogue holds the
/// architectures.
Result<std::unique_ptr<Device>> make_gpu_device(const GpuApi& api, std::string_view image,
                                                std::int64_t index, const Catalog& catalog);

Result<std::unique_ptr<Device>> make_cuda_device(std::int64_t index, const Catalog& catalog);
Result<std::unique_ptr<Device>> make_hip_device(std::int64_t index, const Catalog& catalog);

}  // namespace rooftile::characterize::gpu
