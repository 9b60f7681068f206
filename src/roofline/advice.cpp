// SPDX-License-Identifier: Apache-2.0
#include "roofline/advice.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "core/number_of.h"
#include "core/text.h"
#include "roofline/operation.h"

namespace rooftile::roofline {

namespace {

using hardware::MemoryLevel;
using profile::KernelRecord;

constexpr double kNearRoof = 0.6;  ///< of the roof: from here on it is the roof that holds a kernel

std::string percent(double fraction) {
  return fmt::format("{:.0f} %", fraction * 100);
}

std::string roof_name(const Point& point) {
  return point.limiter == "compute" && !point.terms.compute_roof.empty() ? point.terms.compute_roof
                                                                         : point.limiter;
}

/// "dram-bound at 81 % of its roof"
std::string held(const Point& point) {
  return fmt::format("{}-bound at {}{} of its roof", roof_name(point),
                     point.record.flops_complete ? "" : ">=", percent(*point.fraction_of_roof));
}

bool streams(std::string_view name) {
  const std::string_view kind = operation_class(name);
  return kind == "element-wise" || kind == "data movement" || kind == "random numbers";
}

/// Fused with the kernel that follows, what the first writes and the second reads need not move: at
/// most the bytes of the smaller of the two, per pair of launches.
std::optional<Seconds> fusion_gain(const Point& point, const Point& next, const Roofs& roofs) {
  const auto level = point.limiter == "l1"   ? MemoryLevel::L1
                     : point.limiter == "l2" ? MemoryLevel::L2
                                             : MemoryLevel::Dram;
  const auto bandwidth = roofs.bandwidth(level);
  const auto mine = point.record.bytes_at(level), other = next.record.bytes_at(level);
  if (!bandwidth || !mine || !other || point.record.launches < 1 || next.record.launches < 1) {
    return std::nullopt;
  }
  const Bytes saved = min(*mine / static_cast<double>(point.record.launches),
                          *other / static_cast<double>(next.record.launches));
  return saved * static_cast<double>(point.record.next_launches) / *bandwidth;
}

/// The same operation in 16 bits on the matrix units, where this one runs on vector lanes.
std::optional<double> matrix_lift(const Point& point, const Roofs& roofs) {
  const std::string_view kind = operation_class(point.record.name);
  if (uses_tensor(point.record) ||
      (kind != "product" && kind != "convolution" && kind != "attention")) {
    return std::nullopt;
  }
  std::optional<FlopsPerSecond> own, best;
  for (const ComputeRoof& roof : roofs.compute) {
    if (name_of(roof.key) == point.terms.compute_roof) own = roof.rate;
    const bool half = roof.key.dtype == DType::Fp16 || roof.key.dtype == DType::Bf16;
    if (half && roof.key.pipe == hardware::Pipe::Tensor) best = roof.rate;
  }
  if (!own || !best || !(*best > *own)) return std::nullopt;
  return *best / *own;
}

/// What the kernel needs with a compute roof that is `lift` times as high: its bytes stay.
Seconds lifted_bound(const Point& point, double lift) {
  Seconds needed = point.terms.compute.value_or(*point.bound) / lift;
  for (const auto& level : point.terms.level) needed = max(needed, level.value_or(Seconds{}));
  return needed;
}

std::string launch_advice(Point& point, Seconds overhead) {
  const KernelRecord& record = point.record;
  const Seconds floor = point.bound.value_or(Seconds{});
  const Seconds spent = static_cast<double>(record.launches) * overhead;
  point.gain = min(spent, max(*record.time - floor, Seconds{}));
  return fmt::format(
      "launch-bound: {} of {} each; merging them or replaying a graph would "
      "save up to {} of {}",
      number_of(record.launches, "launch"),
      format_time(*record.time / static_cast<double>(record.launches)), format_time(point.gain),
      format_time(*record.time));
}

std::string near_roof_advice(Point& point, const Point* next, const Roofs& roofs) {
  const Seconds time = *point.record.time;
  if (point.limiter == "compute") {
    if (const auto lift = matrix_lift(point, roofs)) {
      point.gain = max(time - lifted_bound(point, *lift), Seconds{});
      return fmt::format(
          "{}; 16-bit products on the matrix units lift that roof {:.1f} times, and "
          "would save up to {} of {}",
          held(point), *lift, format_time(point.gain), format_time(time));
    }
    point.gain = max(time - *point.bound, Seconds{});
    return fmt::format("{}; only fewer operations would help much, {} of {} is left to gain",
                       held(point), format_time(point.gain), format_time(time));
  }
  // A kernel that follows itself works on something else.
  if (next != nullptr && next != &point && streams(point.record.name) &&
      streams(next->record.name)) {
    const auto gain = fusion_gain(point, *next, roofs);
    if (gain && gain->base() > 0.0) {
      point.gain = min(*gain, time);
      return fmt::format("{}; fusing it with the {} that follows would save up to {} of {}",
                         held(point), next->short_name, format_time(point.gain), format_time(time));
    }
  }
  point.gain = max(time - *point.bound, Seconds{});
  return fmt::format(
      "{}; only fewer bytes would help much (a smaller format, fusion with its "
      "neighbours), {} of {} is left to gain at this traffic",
      held(point), format_time(point.gain), format_time(time));
}

/// The unit that the profiler itself saw nearest to its peak: counted or not, it is work.
std::pair<double, std::string_view> busiest_unit(const profile::SpeedOfLight& shares) {
  std::pair<double, std::string_view> most{shares.compute.value_or(0.0), "the SMs"};
  for (const MemoryLevel level : hardware::kMemoryLevels) {
    const double share = shares.level[static_cast<std::size_t>(level)].value_or(0.0);
    if (share > most.first) most = {share, name_of(level)};
  }
  return most;
}

std::string far_advice(Point& point) {
  const Seconds time = *point.record.time;
  if (const auto [share, unit] = busiest_unit(point.record.speed_of_light);
      share >= kNearRoof && share > *point.fraction_of_roof) {
    point.gain = time * std::max(1.0 - share, 0.0);
    return fmt::format(
        "{} reached {} of their peak by the profiler's own count, more than counted FLOPs and "
        "bytes "
        "explain; only fewer instructions or accesses would help much, {} of {} is left to gain",
        unit == "the SMs" ? std::string(unit) : fmt::format("the units of {}", unit),
        percent(share), format_time(point.gain), format_time(time));
  }
  point.gain = max(time - *point.bound, Seconds{});
  if (point.record.from_shapes) {
    return fmt::format(
        "its FLOPs and compulsory bytes explain {} of its time ({}); counters would tell whether "
        "more traffic, too little parallelism or a poor tile takes the rest, up to {} of {}",
        percent(*point.fraction_of_roof), roof_name(point), format_time(point.gain),
        format_time(time));
  }
  const bool compute = point.limiter == "compute";
  return fmt::format("no roof limits it: {} of the nearest one ({}); {}, up to {} of {}",
                     percent(*point.fraction_of_roof), roof_name(point),
                     compute ? "a better-fitting algorithm, tile or layout would help"
                             : "more parallelism or more bytes in flight would help",
                     format_time(point.gain), format_time(time));
}

/// Collectives wait for the other GPUs: their time does not tell what limits them here.
std::string communication_advice(const Point& point) {
  const KernelRecord& record = point.record;
  std::string rate;
  if (const auto bytes = record.bytes_at(MemoryLevel::Dram); bytes && record.flops_complete) {
    rate =
        fmt::format(" at {} of the GPU's own memory traffic", format_rate(*bytes / *record.time));
  }
  return fmt::format(
      "communication of {}{}, waiting for the other GPUs included; computing at the same time "
      "would hide "
      "up to {}",
      number_of(record.launches, "launch"), rate, format_time(*record.time));
}

void advise_point(Point& point, const Point* next, const Chart& chart) {
  const KernelRecord& record = point.record;
  if (!record.time || !(record.time->base() > 0.0)) {
    if (point.fraction_of_roof) point.advice = held(point);
    return;
  }
  if (operation_class(record.name) == "communication") {
    point.advice = communication_advice(point);
  } else if (point.launch_bound) {
    point.advice = launch_advice(point, chart.launch_overhead);
  } else if (!point.fraction_of_roof || !point.bound) {
    point.advice = point.fraction_of_roof
                       ? held(point)
                       : "only its time is known: counters or shapes would tell what limits it";
  } else if (*point.fraction_of_roof >= kNearRoof) {
    point.advice = near_roof_advice(point, next, chart.roofs);
  } else {
    point.advice = far_advice(point);
  }
}

}  // namespace

void advise(Chart& chart) {
  std::map<std::pair<std::string, std::string>, const Point*> by_name;
  for (const Point& point : chart.points) by_name[{point.phase, point.record.name}] = &point;
  for (Point& point : chart.points) {
    const auto next = by_name.find({point.phase, point.record.next});
    const bool regular = 2 * point.record.next_launches >= point.record.launches;
    advise_point(point, regular && next != by_name.end() ? next->second : nullptr, chart);
  }
}

}  // namespace rooftile::roofline
