// SPDX-License-Identifier: Apache-2.0
#include "profile/kernel_time.h"

#include <numeric>

#include "profile/formula.h"

namespace rooftile::profile {

namespace {

/// A duration counter: its sum.
std::optional<KernelTime> from_duration(const KernelSeries& kernel, std::string_view metric) {
  const Column* column = find_counter(kernel, metric);
  if (column == nullptr) return std::nullopt;
  KernelTime time{.total = column->sum(),
                  .per_launch = {},
                  .text = column->metric,
                  .partial = column->missing > 0};
  if (column->weights.empty()) time.per_launch = column->values;
  return time;
}

/// [Yang20] Time = sm__cycles_elapsed.avg / sm__cycles_elapsed.avg.per_second, launch by launch
/// where the two match, else total cycles over the mean clock.
std::optional<KernelTime> from_cycles(const KernelSeries& kernel, std::string_view cycles_metric,
                                      std::string_view clock_metric, bool mean_clock) {
  const Column* cycles = find_counter(kernel, cycles_metric);
  const Column* clock = find_counter(kernel, clock_metric);
  if (cycles == nullptr || clock == nullptr) return std::nullopt;
  KernelTime time;
  const bool matched = cycles->weights.empty() && clock->weights.empty() &&
                       cycles->values.size() == clock->values.size() && cycles->missing == 0 &&
                       clock->missing == 0;
  if (matched) {
    for (std::size_t i = 0; i < cycles->values.size(); ++i) {
      if (!(clock->values[i] > 0.0)) return std::nullopt;
      time.per_launch.push_back(cycles->values[i] / clock->values[i]);
    }
  }
  if (matched && !mean_clock) {
    time.total = std::accumulate(time.per_launch.begin(), time.per_launch.end(), 0.0);
    time.text = "sum over launches of " + cycles->metric + " / " + clock->metric;
  } else {
    if (!(clock->mean() > 0.0)) return std::nullopt;
    time.total = cycles->sum() / clock->mean();
    time.text = "sum of " + cycles->metric + " / mean of " + clock->metric;
  }
  return time;
}

}  // namespace

namespace {

std::optional<KernelTime> best_time(const KernelSeries& kernel, bool mean_clock) {
  if (mean_clock) {
    auto time =
        from_cycles(kernel, "sm__cycles_elapsed.avg", "sm__cycles_elapsed.avg.per_second", true);
    if (time) return time;
  }
  for (const std::string_view metric :
       {"duration", "gpu__time_duration.sum", "gpu__time_duration.avg", "gpu__time_duration.max",
        "gpu__time_duration_measured_user.sum"}) {
    if (auto time = from_duration(kernel, metric)) return time;
  }
  for (const std::string_view cycles :
       {"sm__cycles_elapsed.avg", "sm__cycles_elapsed.max", "gpc__cycles_elapsed.max"}) {
    for (const std::string_view clock :
         {"sm__cycles_elapsed.avg.per_second", "gpc__cycles_elapsed.avg.per_second"}) {
      if (auto time = from_cycles(kernel, cycles, clock, mean_clock)) return time;
    }
  }
  for (const std::string_view metric : {"gpu__time_active.avg", "gpu__time_active.sum"}) {
    if (auto time = from_duration(kernel, metric)) return time;
  }
  return std::nullopt;
}

}  // namespace

std::optional<KernelTime> kernel_time(const KernelSeries& kernel, bool mean_clock) {
  auto time = best_time(kernel, mean_clock);
  if (!time) return time;
  const Column* cycles = find_counter(kernel, "smsp__cycles_elapsed.avg");
  if (cycles != nullptr && cycles->weights.empty() && cycles->missing == 0 &&
      cycles->values.size() == time->per_launch.size()) {
    time->cycles = cycles->values;
  }
  return time;
}

}  // namespace rooftile::profile
