// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "core/number_of.h"
#include "core/text.h"
#include "roofline/chart.h"

namespace rooftile::roofline {

namespace {

using hardware::MemoryLevel;
using profile::Warning;

constexpr double kByteTolerance = 0.05;   ///< counters of different passes differ by this much
constexpr double kClockTolerance = 0.02;  ///< roofs scale with the clock
constexpr double kRounding = 0.005;       ///< above a roof by less is on it
constexpr double kManyShort = 0.5;        ///< of the launches, or ...
constexpr double kMuchShortTime = 0.1;    ///< ... of the time in launches below the limit

/// Of an algorithm that needs fewer multiplications than the direct one; empty for others.
std::string effective_rate_reason(std::string_view algorithm) {
  const bool winograd = algorithm.starts_with("winograd");
  if (!winograd && !algorithm.starts_with("fft")) return {};
  return fmt::format("effective rate, {} needs fewer multiplications than the FLOPs counted",
                     winograd ? "Winograd" : "FFT");
}

/// The first word of where the roof of the limiter is from: "measured", "export", "datasheet".
std::string roof_source(const Point& point, const Roofs& roofs) {
  const auto first_word = [](const std::string& text) { return text.substr(0, text.find(' ')); };
  for (const ComputeRoof& roof : roofs.compute) {
    if (point.limiter == "compute" && name_of(roof.key) == point.terms.compute_roof) {
      return first_word(roof.source);
    }
  }
  for (const MemoryRoof& roof : roofs.memory) {
    if (roof.level && name_of(*roof.level) == point.limiter) return first_word(roof.source);
  }
  return {};
}

/// One warning per reason, that of the most kernels first.
void above_roof(const Chart& chart, double tolerance, std::vector<Warning>& warnings) {
  std::vector<std::pair<std::string, std::vector<const Point*>>> reasons;
  for (const Point& point : chart.points) {
    if (!point.fraction_of_roof || !(*point.fraction_of_roof > 1.0 + tolerance)) continue;
    const auto same = std::find_if(reasons.begin(), reasons.end(), [&](const auto& known) {
      return known.first == point.above_roof;
    });
    if (same == reasons.end()) {
      reasons.push_back({point.above_roof, {&point}});
    } else {
      same->second.push_back(&point);
    }
  }
  std::stable_sort(reasons.begin(), reasons.end(),
                   [](const auto& a, const auto& b) { return a.second.size() > b.second.size(); });
  for (const auto& [reason, points] : reasons) {
    const Point& worst = **std::max_element(
        points.begin(), points.end(),
        [](const auto* a, const auto* b) { return *a->fraction_of_roof < *b->fraction_of_roof; });
    const std::string roof = worst.limiter == "compute" ? worst.terms.compute_roof : worst.limiter;
    warnings.push_back(
        {"above-roof",
         fmt::format("{} {} more than {:.0f} % above the roof, worst {} at {:.2f} x the {} "
                     "roof: {}",
                     number_of(points.size(), "kernel"), points.size() == 1 ? "is" : "are",
                     tolerance * 100, worst.short_name, *worst.fraction_of_roof, roof, reason)});
  }
}

/// Each level should see at least the traffic of the level below it.
void byte_order(const Chart& chart, MemoryLevel upper, MemoryLevel lower,
                std::vector<Warning>& warnings) {
  std::int64_t count = 0;
  double share = 0.0;
  for (const Point& point : chart.points) {
    const auto above = point.record.bytes_at(upper), below = point.record.bytes_at(lower);
    if (!above || !below || !(above->base() * (1.0 + kByteTolerance) < below->base())) continue;
    count += 1;
    share += point.time_fraction;
  }
  if (count == 0) return;
  warnings.push_back(
      {"byte-order",
       fmt::format("{} ({:.1f} % of the time) with fewer bytes at {} than at "
                   "{}: write-backs, instruction fetches or flushed caches, or the "
                   "counters of these levels are not comparable",
                   number_of(count, "kernel"), share * 100, name_of(upper), name_of(lower))});
}

/// Times in another unit than the export says: launches shorter or longer than any, or all kernels
/// three orders of magnitude below their roofs.
void implausible_times(const Chart& chart, std::vector<Warning>& warnings) {
  constexpr double kShortest = 0.5e-6;  // of 357,000 kernels replayed from graphs: 1.65 us
  constexpr double kLongest = 10;       // drivers end kernels of a display after seconds
  constexpr double kLeastShare = 0.002;
  const Point* longest = nullptr;
  std::int64_t timed = 0, brief = 0, placed = 0, far_below = 0;
  for (const Point& point : chart.points) {
    if (point.record.time && point.record.launches > 0) {
      const double each = point.record.time->base() / static_cast<double>(point.record.launches);
      timed += 1;
      brief += each < kShortest ? 1 : 0;
      if (each > kLongest) longest = longest ? longest : &point;
    }
    if (point.fraction_of_roof) {
      placed += 1;
      far_below += *point.fraction_of_roof < kLeastShare ? 1 : 0;
    }
  }
  if (brief > 0) {
    warnings.push_back(
        {"times", fmt::format("{} of {} took less than {:g} us per launch, less than any "
                              "kernel does: are the times in another unit than the export says?",
                              brief, number_of(timed, "kernel"), kShortest * 1e6)});
  }
  if (longest != nullptr) {
    warnings.push_back(
        {"times", fmt::format("{} lasts more than {:g} s per launch: is its time in another unit "
                              "than the export says?",
                              longest->short_name, kLongest)});
  }
  if (placed > 0 && far_below == placed) {
    warnings.push_back(
        {"times", fmt::format("no kernel (of {}) reaches {:g} % of its roof: are the times "
                              "or the counters in another unit than the export says?",
                              placed, kLeastShare * 100)});
  }
}

void clock_mismatch(const Chart& chart, std::vector<Warning>& warnings) {
  if (!chart.roofs.clock) return;
  double weighted = 0.0, time = 0.0;
  for (const Point& point : chart.points) {
    if (!point.record.clock || !point.record.time) continue;
    weighted += point.record.clock->base() * point.record.time->base();
    time += point.record.time->base();
  }
  if (!(time > 0.0)) return;
  const double measured = weighted / time, roof = chart.roofs.clock->base();
  if (std::abs(measured / roof - 1.0) <= kClockTolerance) return;
  warnings.push_back(
      {"clock-mismatch",
       fmt::format(
           "the kernels ran at {:.0f} MHz, the compute roofs hold for {:.0f} MHz ({:+.1f} %): "
           "profilers lock the clock (ncu --clock-control none keeps it free)",
           measured * 1e-6, roof * 1e-6, (measured / roof - 1.0) * 100)});
}

void launch_bound(const Chart& chart, std::vector<Warning>& warnings) {
  const Total& total = chart.total;
  if (total.launches == 0 || total.short_launches == 0 || !(total.time.base() > 0.0)) return;
  const double launches =
      static_cast<double>(total.short_launches) / static_cast<double>(total.launches);
  const double time = total.short_time / total.time;
  if (launches < kManyShort && time < kMuchShortTime) return;
  warnings.push_back(
      {"launch-bound",
       fmt::format(
           "{} of {} ({:.1f} %) took less than 10 us, together "
           "{:.1f} % of the time; launching them costs about {}",
           total.short_launches, number_of(total.launches, "launch"), launches * 100, time * 100,
           format_time(static_cast<double>(total.short_launches) * chart.launch_overhead))});
}

void without_roof(const Chart& chart, std::vector<Warning>& warnings) {
  if (chart.roofs.memory.empty() && chart.roofs.compute.empty()) {
    if (chart.points.empty()) return;
    warnings.push_back({"no-roofs",
                        "no roofs: the exports hold none and do not name a GPU of the catalogue; "
                        "state it with --gpu or --machine"});
    return;
  }
  std::set<std::string> lacking;
  for (const Point& point : chart.points) {
    for (const auto& [key, flops] : point.record.flops_by) {
      if (flops.base() > 0.0 && !chart.roofs.rate(key)) lacking.insert(name_of(key));
    }
    for (const MemoryLevel level : {MemoryLevel::L1, MemoryLevel::L2, MemoryLevel::Dram}) {
      if (point.record.bytes_at(level) && !chart.roofs.bandwidth(level)) {
        lacking.insert(std::string(name_of(level)));
      }
    }
  }
  if (lacking.empty()) return;
  warnings.push_back({"no-roof", fmt::format("measured, but without a roof on this machine: {}",
                                             fmt::join(lacking, ", "))});
}

}  // namespace

std::string above_roof_reason(const Point& point, const Roofs& roofs) {
  if (!point.fraction_of_roof || !(*point.fraction_of_roof > 1.0 + kRounding)) return {};
  const bool compute = point.limiter == "compute";
  if (compute) {
    const std::string reason = effective_rate_reason(point.record.algorithm);
    if (!reason.empty()) return reason;
  }
  const auto& clock = point.record.clock;
  // The roofs of the chip scale with the clock, that of DRAM does not.
  if (point.limiter != "dram" && clock && roofs.clock && *clock > *roofs.clock &&
      *point.fraction_of_roof <= *clock / *roofs.clock * (1.0 + kByteTolerance)) {
    return fmt::format("the kernel ran at {:.0f} MHz, the roof holds for {:.0f} MHz",
                       clock->base() * 1e-6, roofs.clock->base() * 1e-6);
  }
  if (point.record.from_shapes && !compute) {
    return "the bytes are those of the shapes, and some of them were still in a cache";
  }
  const std::string source = roof_source(point, roofs);
  if (source == "measured" || source == "published") {
    return "the roof was measured too low: no kernel reached it at that time";
  }
  return compute
             ? "more operations than the units can do: the counter or the time is from another run"
             : "more bytes than the level can move: the counter or the time is from another run";
}

std::string above_roof_reason(const Prediction& prediction, const Roofs& roofs) {
  constexpr const char* kLowerRoof = "predicted with data-sheet rates, but the roof drawn is lower";
  if (!(prediction.time > Seconds{})) return {};
  for (const ComputeRoof& roof : roofs.compute) {
    if (name_of(roof.key) != prediction.rate) continue;
    if (prediction.flops / prediction.time > roof.rate * (1.0 + kRounding)) {
      const std::string reason = effective_rate_reason(prediction.algorithm);
      return reason.empty() ? kLowerRoof : reason;
    }
  }
  for (const MemoryRoof& roof : roofs.memory) {
    if (!roof.level) continue;
    const Bytes bytes = prediction.bytes[static_cast<std::size_t>(*roof.level)];
    if (bytes / prediction.time > roof.bandwidth * (1.0 + kRounding)) return kLowerRoof;
  }
  return {};
}

std::vector<Warning> check(const Chart& chart, const ChartOptions& options) {
  std::vector<Warning> warnings;
  without_roof(chart, warnings);
  above_roof(chart, options.above_roof_tolerance, warnings);
  byte_order(chart, MemoryLevel::L1, MemoryLevel::L2, warnings);
  byte_order(chart, MemoryLevel::L2, MemoryLevel::Dram, warnings);
  implausible_times(chart, warnings);
  clock_mismatch(chart, warnings);
  launch_bound(chart, warnings);
  return warnings;
}

}  // namespace rooftile::roofline
