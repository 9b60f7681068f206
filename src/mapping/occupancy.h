// SPDX-License-Identifier: Apache-2.0
//
// How many CTAs share an SM: each resource that the GPU's file states allows
// floor(what the SM has / what a CTA takes); the least wins. A resource that nobody states limits
// nothing. Registers are
// counted as they are asked for; hardware hands them out in units (256 per warp since Maxwell),
// which loses at most one CTA for odd counts.
#pragma once

#include <cstdint>
#include <optional>

#include "core/units.h"
#include "hardware/gpu_spec.h"

namespace rooftile::mapping {

/// What one CTA takes; 0 = not known, limits nothing.
struct CtaNeeds {
  std::int64_t threads = 0;
  std::int64_t registers_per_thread = 0;  ///< 32-bit
  Bytes shared = {};
};

/// What one SM has.
struct SmLimits {
  std::optional<std::int64_t> registers = {}, max_threads = {}, max_blocks = {};
  std::optional<Bytes> shared = {};
};
SmLimits sm_limits(const hardware::GpuSpec& gpu);

/// CTAs that run on an SM at a time, at least 1: a kernel that fits nowhere is not launched.
std::int64_t active_ctas(const CtaNeeds& cta, const SmLimits& sm);

}  // namespace rooftile::mapping
