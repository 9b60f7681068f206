// SPDX-License-Identifier: Apache-2.0
#include "characterize/characterize.h"

#include <filesystem>
#include <utility>

#include "characterize/environment.h"

namespace rooftile::characterize {

namespace {

/// ERT's rule looks for seven points within 5 %, so it needs its own dense sweep.
PlanOptions plan_options(const CharacterizeOptions& options) {
  PlanOptions plan = options.plan;
  plan.dense_update = options.levels != LevelRule::Topology;
  return plan;
}

}  // namespace

Result<Outlook> outlook(const Device& device, const CharacterizeOptions& options) {
  ROOFTILE_TRY(const Plan plan,
               make_plan(device.description(), device.capabilities(), plan_options(options)));
  return Outlook{.measurements = plan.cases.size(), .estimate = plan.estimate};
}

Result<CharacterizeResult> characterize(Device& device, const CharacterizeOptions& options) {
  ROOFTILE_TRY(const Plan plan,
               make_plan(device.description(), device.capabilities(), plan_options(options)));
  std::vector<Hertz> clocks;
  const auto observe = [&] {
    if (const auto clock = device.observe_clock()) clocks.push_back(*clock);
  };
  observe();
  const auto before = observe_processor_times();
  ROOFTILE_TRY(SweepResult sweep, run_sweep(device, plan, options.sweep));
  const auto after = observe_processor_times();
  observe();
  CharacterizeResult result;
  result.own = reduce(device.description(), std::move(sweep.samples), clocks, options.levels);
  if (before && after) {
    for (std::string& w : load_warnings(background_load(*before, *after))) {
      result.own.warnings.push_back(std::move(w));
    }
  }
  result.simultaneous = std::move(sweep.simultaneous);
  result.resumed = sweep.resumed;
  if (!options.sweep.checkpoint.empty()) {
    std::error_code ignored;  // it may never have been written
    std::filesystem::remove(options.sweep.checkpoint, ignored);
  }
  return result;
}

}  // namespace rooftile::characterize
