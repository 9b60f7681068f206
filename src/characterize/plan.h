// SPDX-License-Identifier: Apache-2.0
//
// What will be measured: the list of cases for one device, from its caches and capabilities. Each
// cache level gets working sets well inside its window (larger than the level below, smaller than
// itself), memory gets sets of several times the last cache, and the intensity sweep of ERT runs
// in the smallest cache (where it finds the compute peak) and in memory.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "characterize/device.h"
#include "characterize/measurement.h"
#include "characterize/statistics.h"
#include "core/result.h"
#include "core/units.h"

namespace rooftile::characterize {

enum class Effort : std::uint8_t { Quick, Normal, Thorough };

struct PlanOptions {
  Effort effort = Effort::Normal;
  std::vector<DType> dtypes;      ///< only these; empty means all the device has
  std::vector<Pattern> patterns;  ///< only these; empty means all the device has
  bool dense_update = false;      ///< ERT's density (factor 1.1) for the update pattern
  /// Largest working set; default: a multiple of the last cache, at most half of the memory.
  std::optional<Bytes> max_working_set;
};

struct Plan {
  std::vector<Case> cases;
  StoppingRule stopping;
  Seconds target_run;   ///< a timed run is made of so many passes that it takes about this long
  Seconds warm_up;      ///< of each case, before the first timed run
  Seconds second_look;  ///< time for repeating what did not converge
  Seconds estimate;     ///< of the whole plan
  /// The sweep ends by then: cases get shorter when earlier ones took longer than planned.
  std::optional<Seconds> limit = {};
};

Result<Plan> make_plan(const DeviceDescription& device, const std::vector<Capability>& capabilities,
                       const PlanOptions& options);

/// Identifies plan and device; a checkpoint of another plan is refused.
std::string fingerprint(const DeviceDescription& device, const Plan& plan);

}  // namespace rooftile::characterize
