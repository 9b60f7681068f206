// SPDX-License-Identifier: Apache-2.0
#include "traffic/traffic.h"

namespace rooftile::traffic {

Traffic compulsory(const ops::KernelWork& work, const hardware::GpuSpec& gpu) {
  const Bytes kept = gpu.l2.size.value_or(Bytes{});
  return {.l1 = work.bytes(),
          .l2 = work.bytes(),
          .dram_read = work.read,
          .dram_written = work.written,
          .dram_avoidable = min(work.bytes(), kept)};
}

Traffic model(const ops::KernelWork& work, const tile::TilePlan& /*plan*/,
              const hardware::GpuSpec& gpu) {
  return compulsory(work, gpu);
}

}  // namespace rooftile::traffic
