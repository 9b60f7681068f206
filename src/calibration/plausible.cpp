// SPDX-License-Identifier: Apache-2.0
#include "calibration/plausible.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "aggregate/communication.h"
#include "calibration/selection.h"
#include "cost/predictor.h"
#include "hardware/plausible.h"

namespace rooftile::calibration {

namespace {

constexpr double kTolerance = 0.05;  // below the bound by clocks above the quoted ones
constexpr double kShare = 0.01;      // of the rows that may lie further below
/// Eager launches make the smallest kernels take 20 to 40 times their bound; in no public file does
/// the median row.
constexpr double kSlow = 200.0;

/// What the factor by which times lie below their bounds suggests. Kernels take up to 60 times
/// their bound, so a slip of 1000 shows as 17 to 1000.
std::string guess(double factor) {
  const auto is_slip = [factor](double power) {
    return factor > power / 60 && factor < power * 1.2;
  };
  if (is_slip(1e3)) return "about 1000x: are these seconds? Times are milliseconds";
  if (is_slip(1e6)) return "about 1000000x: times are milliseconds";
  return "another unit (times are milliseconds), swapped columns, or another GPU?";
}

double bound_of(const ops::KernelWork& work, const hardware::Machine& machine, bool warm) {
  const auto job = *cost::bind(work, machine);  // checked when read
  cost::BoundTerms terms =
      cost::bound_terms(work, traffic::compulsory(work, machine.gpu), job.roof);
  if (warm) terms[static_cast<std::size_t>(cost::Resource::Dram)].reset();
  double seconds = 0;
  for (const auto& term : terms) seconds = std::max(seconds, term ? term->base() : 0.0);
  return seconds;
}

/// Of a call of several kernels: its campaigns repeat a few copies, which an L2 may hold, and the
/// kernels may overlap.
double bound_of(const Dataset& dataset, const FusedLayer& layer) {
  double seconds = 0;
  for (const ops::KernelWork& work : layer.kernels)
    seconds = std::max(seconds, bound_of(work, dataset.machines[layer.gpu], true));
  return seconds;
}

double bound_of(const Collective& row) {
  return aggregate::all_reduce(row.bytes, row.gpus, row.link, {}).bound.base();
}

/// The rows of collectives and fused calls, file by file. Short ones take any multiple of a bound
/// that leaves out their start, so only what is too fast is told.
void check_calls(const Dataset& dataset, std::vector<TimeCheck>& checks) {
  std::map<std::uint32_t, std::vector<TimedRow>> rows;
  for (const Collective& row : dataset.collectives)
    rows[row.file].push_back({.measured = row.measured, .bound = bound_of(row), .line = row.line});
  for (const FusedLayer& layer : dataset.layers)
    rows[layer.file].push_back(
        {.measured = layer.measured, .bound = bound_of(dataset, layer), .line = layer.line});
  for (const auto& [file, list] : rows) {
    checks.push_back(check_times(dataset.files[file], list));
    checks.back().median_ratio = 1;
  }
}

}  // namespace

double bound_of(const Dataset& dataset, const Sample& sample) {
  return bound_of(sample.work, dataset.machines[sample.gpu],
                  dataset.campaigns[sample.campaign] == kWarmCampaign);
}

bool TimeCheck::refused() const {
  return static_cast<double>(below) > kShare * static_cast<double>(rows);
}

bool TimeCheck::suspicious() const {
  return median_ratio > kSlow;
}

std::string TimeCheck::message() const {
  if (refused())
    return fmt::format(
        "{} of {} rows ({:.3g} %) are more than {:g} % faster than the hardware allows, by a "
        "factor of {:.3g} (median; the first is line {})",
        below, rows, 100.0 * static_cast<double>(below) / static_cast<double>(rows),
        kTolerance * 100, factor, line);
  return fmt::format("the median of {} rows takes {:.3g} times what the hardware allows", rows,
                     median_ratio);
}

std::string TimeCheck::advice() const {
  return refused() ? guess(factor) : "are these microseconds? Times are milliseconds";
}

std::optional<std::string> TimeCheck::warning() const {
  if (!refused() && !suspicious()) return std::nullopt;
  return fmt::format("times: {}: {}: {}", file, message(), advice());
}

TimeCheck check_times(const std::string& file, std::span<const TimedRow> rows) {
  TimeCheck check;
  check.file = file;
  check.rows = static_cast<std::int64_t>(rows.size());
  std::vector<double> ratios, factors;
  for (const TimedRow& row : rows) {
    ratios.push_back(row.measured / row.bound);
    if (ratios.back() >= 1.0 - kTolerance) continue;
    if (check.below++ == 0) check.line = row.line;
    factors.push_back(row.bound / row.measured);
  }
  if (!ratios.empty()) check.median_ratio = median(std::move(ratios));
  if (!factors.empty()) check.factor = median(std::move(factors));
  return check;
}

std::vector<TimeCheck> check_times(const Dataset& dataset) {
  // A line with several times (DeepBench) has a campaign for each: a slip may be in one column.
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::vector<TimedRow>> rows;
  for (const Sample& sample : dataset.samples) {
    rows[{sample.file, sample.host ? sample.campaign : 0}].push_back(
        {.measured = sample.measured, .bound = bound_of(dataset, sample), .line = sample.line});
  }
  std::vector<TimeCheck> checks;
  for (const auto& [place, list] : rows) {
    checks.push_back(check_times(dataset.files[place.first], list));
  }
  check_calls(dataset, checks);
  return checks;
}

Status check_fittable(const Dataset& dataset) {
  for (const TimeCheck& check : check_times(dataset)) {
    if (check.refused()) return bad_input(check.file, check.message(), check.advice());
  }
  return check_enough_rows(dataset);
}

std::vector<std::string> warnings_of(const Dataset& dataset) {
  std::vector<std::string> warnings;
  for (const TimeCheck& check : check_times(dataset)) {
    if (auto warning = check.warning()) warnings.push_back(std::move(*warning));
  }
  for (const hardware::Machine& machine : dataset.machines) {
    for (std::string& warning : hardware::warnings_of(machine)) {
      warnings.push_back(std::move(warning));
    }
  }
  return warnings;
}

}  // namespace rooftile::calibration
