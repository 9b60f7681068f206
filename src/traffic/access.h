// SPDX-License-Identifier: Apache-2.0
//
// How the SMs of a GPU ask their caches for data. NVIDIA: warps of 32 lanes, lines of 128 B fetched
// in sectors of 32 B. AMD: wavefronts of 64 lanes; the vector cache serves 64 B of a line at a
// time. What a GPU's file does not state is as its architecture says.
#pragma once

#include "core/result.h"
#include "hardware/gpu_spec.h"

namespace rooftile::traffic {

struct Access {
  std::int64_t lanes = 32;         ///< of one request
  std::int64_t sector_bytes = 32;  ///< fetched at a time
  std::int64_t line_bytes = 128;   ///< under one tag
};

Access access_of(const hardware::GpuSpec& gpu);

/// An error where no cache has the sizes of the file: lines and sectors are powers of
/// two, a sector has 16 B or more, a line at most eight of them and 256 B, a request at most 128
/// lanes.
Status check_access(const hardware::GpuSpec& gpu);

}  // namespace rooftile::traffic
