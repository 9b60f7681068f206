// SPDX-License-Identifier: Apache-2.0
#include "characterize/plausibility.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/operations.h"
#include "core/text.h"

namespace rooftile::characterize {

namespace {

/// The shortest load-to-use latency of a cache that exists (Apple's cores; others: 4 and more).
constexpr Cycles kLeastLoadLatency = Cycles::from_base(3);
/// A call through a pointer and two readings of the time; a message to a GPU takes far longer.
constexpr Cycles kLeastLaunch = Cycles::from_base(20);

/// Every pattern with more than one access stores once.
std::int64_t stores_per_element(Pattern pattern) {
  const bool only_stores = pattern == Pattern::Store || pattern == Pattern::StoreNt;
  return only_stores || accesses_per_element(pattern) > 1 ? 1 : 0;
}

/// Loads and stores run side by side, each kind at its own limit.
BytesPerCycle bandwidth_limit(const UnitLimits& limits, Pattern pattern) {
  if (pattern == Pattern::Shared) return limits.shared;
  // No link is wider than the units' way to their caches.
  if (is_link_copy(pattern)) return limits.load;
  const auto stores = static_cast<double>(stores_per_element(pattern));
  const auto loads = static_cast<double>(accesses_per_element(pattern)) - stores;
  const Bytes one = Bytes::from_base(1.0);
  const Cycles cycles = max(one * loads / limits.load, one * stores / limits.store);
  return one * (loads + stores) / cycles;
}

}  // namespace

void Plausibility::observe(std::optional<Hertz> clock) {
  if (clock) observed_.push_back(*clock);
}

Hertz Plausibility::highest_clock() const {
  std::optional<Hertz> highest;
  if (device_.max_clock) {
    highest = *device_.max_clock * (observed_.empty() ? kStatedClockMargin : 1.0);
  }
  for (const Hertz clock : observed_) {
    const Hertz with_margin = clock * kObservedClockMargin;
    highest = max(highest.value_or(with_margin), with_margin);
  }
  return highest.value_or(kFastestClock);
}

std::optional<std::string> Plausibility::doubt(const Sample& sample) const {
  if (!(sample.time.fast > Seconds{})) return "it took no time at all";
  if (is_stepping(sample.what.pattern)) return doubt_steps(sample);
  if (sample.what.pattern == Pattern::Update || is_product(sample.what.pattern)) {
    if (auto reason = doubt_rate(sample)) return reason;
  }
  return sample.work.bytes > Bytes{} ? doubt_bandwidth(sample) : std::nullopt;
}

// The comparisons are negated: not a number is never plausible.
std::optional<std::string> Plausibility::doubt_rate(const Sample& sample) const {
  const DType dtype = sample.what.dtype;
  const auto limit = device_.limits.flops.find({.dtype = dtype, .pipe = sample.what.pipe});
  if (limit == device_.limits.flops.end()) return "the device states no limit of this format";
  // Two of four values of a sparse operand are zero, and their products are counted too.
  const double sparse = sample.what.pattern == Pattern::MmaSparse ? 2.0 : 1.0;
  const FlopsPerSecond most = limit->second.value * highest_clock() * sparse;
  if (flop_rate(sample) <= most) return std::nullopt;
  return fmt::format("{}, above the {} that {}", format_rate(flop_rate(sample), dtype, 3),
                     format_rate(most, dtype, 3), of_units());
}

std::optional<std::string> Plausibility::doubt_bandwidth(const Sample& sample) const {
  const BytesPerSecond most =
      bandwidth_limit(device_.limits, sample.what.pattern) * highest_clock();
  if (bandwidth(sample) <= most) return std::nullopt;
  return fmt::format("{}, above the {} that {}", format_rate(bandwidth(sample)), format_rate(most),
                     of_units());
}

std::optional<std::string> Plausibility::doubt_steps(const Sample& sample) const {
  const bool loads = is_chase(sample.what.pattern);
  const Seconds least = (loads ? kLeastLoadLatency : kLeastLaunch) / highest_clock();
  if (step_time(sample) >= least) return std::nullopt;
  return fmt::format("{} per {}, below the {} that any takes at {:.2f} GHz",
                     format_time(step_time(sample)), loads ? "load" : "launch", format_time(least),
                     highest_clock().base() * 1e-9);
}

std::string Plausibility::of_units() const {
  return fmt::format("{} unit{} can do at up to {:.2f} GHz", device_.units,
                     device_.units == 1 ? "" : "s", highest_clock().base() * 1e-9);
}

std::vector<std::string> describe_omissions(const std::vector<Omission>& omissions) {
  std::vector<std::string> out;
  std::vector<Case> seen;
  for (const Omission& o : omissions) {
    const auto same = [&o](const Case& c) {
      return c.pattern == o.what.pattern && c.dtype == o.what.dtype && c.pipe == o.what.pipe;
    };
    if (std::any_of(seen.begin(), seen.end(), same)) continue;
    seen.push_back(o.what);
    const auto count = std::count_if(omissions.begin(), omissions.end(),
                                     [&](const Omission& other) { return same(other.what); });
    const std::string others =
        count == 1 ? "" : fmt::format(" (and {} more of this kind)", count - 1);
    out.push_back(
        fmt::format("{} is left out: measured twice, {}{}", describe(o.what), o.reason, others));
  }
  return out;
}

}  // namespace rooftile::characterize
