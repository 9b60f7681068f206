// SPDX-License-Identifier: Apache-2.0
#include "mapping/occupancy.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace rooftile::mapping {

SmLimits sm_limits(const hardware::GpuSpec& gpu) {
  return {.registers = gpu.sm.registers,
          .max_threads = gpu.sm.max_threads,
          .max_blocks = gpu.sm.max_blocks,
          .shared = gpu.sm.shared};
}

std::int64_t active_ctas(const CtaNeeds& cta, const SmLimits& sm) {
  constexpr std::int64_t kUnlimited = 64;  // no SM holds more CTAs
  std::int64_t active = sm.max_blocks.value_or(kUnlimited);
  const std::int64_t registers = cta.threads * cta.registers_per_thread;
  if (sm.registers && registers > 0) active = std::min(active, *sm.registers / registers);
  if (sm.max_threads && cta.threads > 0) active = std::min(active, *sm.max_threads / cta.threads);
  if (sm.shared && cta.shared.base() > 0) {
    const double fitting = std::min(std::floor(*sm.shared / cta.shared), double{kUnlimited});
    active = std::min(active, static_cast<std::int64_t>(fitting));
  }
  return std::max<std::int64_t>(active, 1);
}

}  // namespace rooftile::mapping
