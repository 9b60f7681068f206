// SPDX-License-Identifier: Apache-2.0
//
// The whole characterization of one device: plan, sweep, second look at what did not converge,
// reduction, and the doubts. The one entry point of this layer for the command line.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "characterize/characterization.h"
#include "characterize/device.h"
#include "characterize/plan.h"
#include "characterize/sweep.h"
#include "core/result.h"

namespace rooftile::characterize {

struct CharacterizeOptions {
  PlanOptions plan;
  SweepOptions sweep;
  LevelRule levels = LevelRule::Topology;
};

/// What a run will do, before it starts.
struct Outlook {
  std::size_t measurements = 0;
  Seconds estimate;
};
Result<Outlook> outlook(const Device& device, const CharacterizeOptions& options);

struct CharacterizeResult {
  Characterization own;  ///< of this process
  /// Those of own.warnings that are about the run: what was left out, the load of others.
  std::vector<std::string> run_warnings;
  /// Of all ranks together while they run at the same time; only with a coordinator.
  std::vector<Sample> simultaneous;
  std::int64_t resumed = 0;
};

Result<CharacterizeResult> characterize(Device& device, const CharacterizeOptions& options);

}  // namespace rooftile::characterize
