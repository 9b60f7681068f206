// SPDX-License-Identifier: Apache-2.0
//
// Any OpenCL device as a Device. The loader is opened at run time; the first look at the platforms
// happens in a child process, because a driver that aborts (PoCL does where /sys is not mounted)
// must not take the program with it.
//
// The caches of a device are only known as OpenCL tells them: one global memory cache. A processor
// behind PoCL takes its caches from the host's topology instead.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "characterize/device.h"
#include "core/catalog.h"
#include "core/result.h"

namespace rooftile::characterize::opencl {

/// Names of all devices, platform by platform; an error when there are none or a driver aborts.
Result<std::vector<std::string>> list_devices();

Result<std::unique_ptr<Device>> make_opencl_device(std::int64_t index, const Catalog& catalog);

}  // namespace rooftile::characterize::opencl
