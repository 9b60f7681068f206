// SPDX-License-Identifier: Apache-2.0
//
// What the device did over time, for exports that say when launches began: how long it was busy and
// idle, how much of the idle time it waited for a call that the host had not made yet, how much
// communication ran alongside other kernels, and which phases and annotations the time went to. Of
// several devices the one with the most launches is looked at.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/units.h"
#include "profile/raw_profile.h"

namespace rooftile::profile {

/// Launches and their time under one name.
struct TimeShare {
  std::string name;
  std::int64_t launches = 0;
  Seconds time;
};

struct Timeline {
  std::int64_t devices = 1;
  Seconds span;  ///< from the first launch to the end of the last
  Seconds busy;  ///< some kernel or copy ran
  Seconds idle;
  std::optional<Seconds> host_late;  ///< idle, and the next kernel had not been called for yet
  std::int64_t late_stretches = 0;   ///< five or more launches in a row that the device waited for
  std::int64_t late_launches = 0;    ///< in them
  Seconds late_span;                 ///< their duration with the gaps
  Seconds communication;             ///< some collective ran
  Seconds exposed_communication;     ///< and nothing else did
  std::vector<TimeShare> phases;     ///< forward, backward, optimizer
  std::vector<TimeShare> annotations;  ///< most time first; a launch counts in every one around it
};

/// Nothing where the export does not say when launches began.
std::optional<Timeline> timeline_of(const RawProfile& profile);

}  // namespace rooftile::profile
