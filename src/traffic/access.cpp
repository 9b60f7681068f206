// SPDX-License-Identifier: Apache-2.0
#include "traffic/access.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

namespace rooftile::traffic {

namespace {

constexpr std::int64_t kMostSectors = 8;  ///< the simulator keeps one bit for each
constexpr std::int64_t kLeastSectorBytes = 16, kMostLineBytes = 256, kMostLanes = 128;

std::int64_t whole_bytes(Bytes value) {
  return static_cast<std::int64_t>(std::clamp(value.base(), 0.0, 1e6));
}

Access stated(const hardware::GpuSpec& gpu) {
  const hardware::ArchitectureMemory& usual = gpu.arch.memory;
  const Bytes l1_line = gpu.l1.line.value_or(usual.line);
  const Bytes l2_line = gpu.l2.line.value_or(l1_line);
  const Bytes sector = gpu.l1.sector.value_or(std::min(usual.sector, l1_line));
  return {.lanes = gpu.sm.warp_size,
          .sector_bytes = whole_bytes(sector),
          .line_bytes = whole_bytes(std::max(l1_line, l2_line))};
}

bool possible(const Access& access) {
  const auto power_of_two = [](std::int64_t value) {
    return value > 0 && std::has_single_bit(static_cast<std::uint64_t>(value));
  };
  return power_of_two(access.sector_bytes) && power_of_two(access.line_bytes) &&
         access.sector_bytes >= kLeastSectorBytes && access.sector_bytes <= access.line_bytes &&
         access.line_bytes <= std::min(kMostLineBytes, kMostSectors * access.sector_bytes) &&
         access.lanes <= kMostLanes;
}

}  // namespace

Access access_of(const hardware::GpuSpec& gpu) {
  const Access access = stated(gpu);
  return possible(access) ? access : Access{};
}

Status check_access(const hardware::GpuSpec& gpu) {
  const Access access = stated(gpu);
  if (possible(access)) return {};
  return unsupported(
      fmt::format("{}:/memory", gpu.file),
      fmt::format("{}: requests of {} lanes to lines of {} B in sectors of {} B are not supported",
                  gpu.name, access.lanes, access.line_bytes, access.sector_bytes),
      "lines and sectors are powers of two, a sector has at least 16 B, a line at most eight of "
      "them and 256 B, a warp at most 128 lanes");
}

}  // namespace rooftile::traffic
