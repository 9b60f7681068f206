// SPDX-License-Identifier: Apache-2.0
//
// A GPU behind CUDA or HIP as a Device. None of it has been run on a GPU here: the machine code of
// the kernels is held against what is counted, and the host side runs on a modelled driver that
// executes the kernels' code (tests/unit/characterize/gpu_model.h).
//
// The sizes of L1, L2 and a memory-side cache are those of the catalogue where it knows the device
// by its name, else L1 is that of the architecture, because no driver call tells it.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "characterize/device.h"
#include "characterize/gpu/gpu_api.h"
#include "core/catalog.h"
#include "core/result.h"

namespace rooftile::characterize::gpu {

/// `image` is what hip_image() gives; CUDA's kernels are written for the device (ptx.h). The
/// catalogue holds the GPUs and the architectures.
Result<std::unique_ptr<Device>> make_gpu_device(const GpuApi& api, std::string_view image,
                                                std::int64_t index, const Catalog& catalog);

Result<std::unique_ptr<Device>> make_cuda_device(std::int64_t index, const Catalog& catalog);
Result<std::unique_ptr<Device>> make_hip_device(std::int64_t index, const Catalog& catalog);

}  // namespace rooftile::characterize::gpu
