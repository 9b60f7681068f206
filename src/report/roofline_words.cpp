// SPDX-License-Identifier: Apache-2.0
#include "report/roofline_words.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/number_of.h"
#include "core/operations.h"
#include "core/text.h"

namespace rooftile::report {

std::string_view operations_of(const profile::KernelRecord& record) {
  const bool integer = std::any_of(
      record.flops_by.begin(), record.flops_by.end(),
      [](const auto& entry) { return is_integer(entry.first.dtype) && entry.second.base() > 0.0; });
  return operation_name(integer ? DType::Int8 : DType::Fp32);
}

std::string_view operations_of(const roofline::Chart& chart) {
  const bool integer =
      std::any_of(chart.points.begin(), chart.points.end(), [](const roofline::Point& point) {
        return operations_of(point.record) == operation_name(DType::Int8);
      });
  return operation_name(integer ? DType::Int8 : DType::Fp32);
}

std::string operations_text(Flops count, std::string_view name, int digits) {
  std::string text = format_flops(count, digits);
  constexpr std::string_view kFloating = "FLOP";
  return text.replace(text.size() - kFloating.size(), kFloating.size(), name);
}

std::string rate_unit(const roofline::Chart& chart) {
  return fmt::format("{}{}/s", chart.binary_units ? "Gi" : "G", operations_of(chart));
}

double chart_gflops(const roofline::Chart& chart, FlopsPerSecond rate) {
  return rate.base() / (chart.binary_units ? 1073741824.0 : 1e9);
}

std::string_view at_least(bool flops_complete) {
  return flops_complete ? "" : ">=";
}

std::string at_least_note(const roofline::Chart& chart) {
  const auto incomplete =
      std::count_if(chart.points.begin(), chart.points.end(),
                    [](const roofline::Point& point) { return !point.record.flops_complete; });
  if (incomplete == 0) return "";
  return fmt::format(
      ">= FLOP counters of {} are missing: FLOPs, intensity, rate and share of the roof are lower "
      "bounds",
      number_of(incomplete, "kernel"));
}

std::string census_text(const roofline::Total& total) {
  if (!total.knows_zero_ai()) {
    if (total.uncounted == total.kernels) return "zero-AI: unknown, FLOPs were not counted";
    return fmt::format("zero-AI: none found, but the FLOPs of {} of {} were not counted",
                       total.uncounted, number_of(total.kernels, "kernel"));
  }
  const roofline::Census& census = total.zero_ai;
  std::string text =
      fmt::format("zero-AI: {}, {} ({} of the launches, {} of the time)",
                  number_of(census.kernels, "kernel"), number_of(census.launches, "launch"),
                  percent_text(census.launch_fraction), percent_text(census.time_fraction));
  if (total.uncounted > 0) {
    text += fmt::format("; FLOPs of {} are unknown", number_of(total.uncounted, "more kernel"));
  }
  return text;
}

std::vector<std::string> above_roof_notes(const roofline::Chart& chart) {
  struct Reason {
    std::string_view what, why;
    int count = 0;
  };
  std::vector<Reason> reasons;
  const auto add = [&reasons](std::string_view what, std::string_view why) {
    if (why.empty()) return;
    const auto same = std::find_if(reasons.begin(), reasons.end(), [&](const Reason& known) {
      return known.what == what && known.why == why;
    });
    (same == reasons.end() ? reasons.emplace_back(Reason{what, why}) : *same).count += 1;
  };
  for (const roofline::Point& point : chart.points) {
    add("kernel", point.above_roof);
    if (point.predicted) add("prediction", point.predicted->above_roof);
  }
  std::vector<std::string> notes;
  for (const Reason& reason : reasons) {
    notes.push_back(
        fmt::format("{} above the roof: {}", number_of(reason.count, reason.what), reason.why));
  }
  return notes;
}

std::size_t run_of(const roofline::Chart& chart, const roofline::Point& point) {
  const auto same =
      std::find_if(chart.phases.begin(), chart.phases.end(),
                   [&](const roofline::Phase& phase) { return phase.label == point.phase; });
  return same == chart.phases.end() ? 0 : static_cast<std::size_t>(same - chart.phases.begin());
}

std::string percent_text(double fraction) {
  return fmt::format("{:.1f} %", fraction * 100);
}

}  // namespace rooftile::report
