// SPDX-License-Identifier: Apache-2.0
#include "characterize/characterize.h"

#include <algorithm>
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

/// True for what becomes a bandwidth or a rate; latency, overhead and links are not ceilings.
bool is_of_a_ceiling(const Case& what) {
  return !is_stepping(what.pattern) && !is_link_copy(what.pattern);
}

/// An error when nothing is left of what was to be measured.
Status check_remaining(const DeviceDescription& device, const Plan& plan,
                       const SweepResult& sweep) {
  const bool wanted = std::any_of(plan.cases.begin(), plan.cases.end(), is_of_a_ceiling);
  const bool found = std::any_of(sweep.samples.begin(), sweep.samples.end(), [&](const Sample& s) {
    return !wanted || is_of_a_ceiling(s.what);
  });
  if (found || sweep.omissions.empty()) return {};
  return bad_input(device.backend + ":" + device.name,
                   "no measurement is plausible: " + describe_omissions(sweep.omissions).front(),
                   "the kernels do less than they are counted for, or the device states a wrong "
                   "number of units or a wrong clock");
}

/// A checkpoint is for interrupted runs; it may never have been written.
void remove_checkpoint(const std::string& path) {
  std::error_code ignored;
  if (!path.empty()) std::filesystem::remove(path, ignored);
}

}  // namespace

Result<Outlook> outlook(const Device& device, const CharacterizeOptions& options) {
  ROOFTILE_TRY(const Plan plan,
               make_plan(device.description(), device.capabilities(), plan_options(options)));
  return Outlook{.measurements = plan.cases.size(),
                 .estimate = min(plan.estimate, plan.limit.value_or(plan.estimate))};
}

Result<CharacterizeResult> characterize(Device& device, const CharacterizeOptions& options) {
  ROOFTILE_TRY(const Plan plan,
               make_plan(device.description(), device.capabilities(), plan_options(options)));
  const auto before = observe_processor_times();
  ROOFTILE_TRY(SweepResult sweep, run_sweep(device, plan, options.sweep));
  const auto after = observe_processor_times();
  remove_checkpoint(options.sweep.checkpoint);
  ROOFTILE_CHECK(check_remaining(device.description(), plan, sweep));
  CharacterizeResult result;
  result.own = reduce(device.description(), std::move(sweep.samples), sweep.clocks, options.levels);
  result.run_warnings = describe_omissions(sweep.omissions);
  if (before && after) {
    for (std::string& w : load_warnings(background_load(*before, *after))) {
      result.run_warnings.push_back(std::move(w));
    }
  }
  for (const std::string& w : result.run_warnings) result.own.warnings.push_back(w);
  result.simultaneous = std::move(sweep.simultaneous);
  result.resumed = sweep.resumed;
  return result;
}

}  // namespace rooftile::characterize
