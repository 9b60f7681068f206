// SPDX-License-Identifier: Apache-2.0
#include "profile/timeline.h"

#include <algorithm>
#include <array>
#include <map>

#include "core/text.h"

namespace rooftile::profile {

namespace {

struct Interval {
  double begin = 0.0, end = 0.0;
  std::optional<double> called;
  bool communication = false;
};

bool communicates(std::string_view kernel) {
  constexpr std::array<std::string_view, 4> kWords{"nccl", "rccl", "msccl", "oneccl"};
  const std::string name = to_lower(kernel);
  return std::any_of(kWords.begin(), kWords.end(), [&name](std::string_view word) {
    return name.find(word) != std::string::npos;
  });
}

std::string_view name_of(TracePhase phase) {
  switch (phase) {
    case TracePhase::Unknown: return "";
    case TracePhase::Forward: return "forward";
    case TracePhase::Backward: return "backward";
    case TracePhase::Optimizer: return "optimizer";
  }
  return "";
}

using Intervals = std::vector<Interval>;

/// Sorted and without overlaps.
Intervals merged(Intervals intervals) {
  std::sort(intervals.begin(), intervals.end(),
            [](const Interval& a, const Interval& b) { return a.begin < b.begin; });
  Intervals out;
  for (const Interval& one : intervals) {
    if (!out.empty() && one.begin <= out.back().end) {
      out.back().end = std::max(out.back().end, one.end);
    } else {
      out.push_back(one);
    }
  }
  return out;
}

double length(const Intervals& intervals) {
  double sum = 0.0;
  for (const Interval& one : intervals) sum += one.end - one.begin;
  return sum;
}

/// What both have, of merged lists.
double common(const Intervals& a, const Intervals& b) {
  double sum = 0.0;
  for (std::size_t i = 0, j = 0; i < a.size() && j < b.size();) {
    sum += std::max(0.0, std::min(a[i].end, b[j].end) - std::max(a[i].begin, b[j].begin));
    (a[i].end < b[j].end ? i : j) += 1;
  }
  return sum;
}

/// Gaps before launches that the host had not called for when the device ran dry. Copies fill gaps.
void add_lateness(Intervals all, Timeline& timeline) {
  constexpr std::int64_t kStretch = 5;
  std::stable_sort(all.begin(), all.end(),
                   [](const Interval& a, const Interval& b) { return a.begin < b.begin; });
  double late = 0.0, reached = all.front().end, first = 0.0;
  std::int64_t row = 0;
  bool known = all.front().called.has_value();
  const auto close = [&] {
    if (row >= kStretch) {
      timeline.late_stretches += 1;
      timeline.late_launches += row;
      timeline.late_span += Seconds::from_base(reached - first);
    }
    row = 0;
  };
  for (std::size_t i = 1; i < all.size(); ++i) {
    const Interval& one = all[i];
    known = known || one.called;
    if (one.begin > reached && one.called && *one.called > reached) {
      late += std::min(*one.called, one.begin) - reached;
      if (row++ == 0) first = reached;
    } else {
      close();
    }
    reached = std::max(reached, one.end);
  }
  close();
  if (known) timeline.host_late = Seconds::from_base(late);
}

std::vector<TimeShare> ranked(const std::map<std::string, TimeShare>& shares, std::size_t most) {
  std::vector<TimeShare> list;
  for (const auto& [name, share] : shares) list.push_back(share);
  std::stable_sort(list.begin(), list.end(),
                   [](const TimeShare& a, const TimeShare& b) { return a.time > b.time; });
  if (list.size() > most) list.resize(most);
  return list;
}

void count(std::map<std::string, TimeShare>& shares, const std::string& name, double time) {
  TimeShare& share = shares[name];
  share.name = name;
  share.launches += 1;
  share.time += Seconds::from_base(time);
}

/// The device with the most launches, the lowest number among equals; nothing without times.
std::optional<std::int64_t> main_device(const std::map<std::int64_t, std::int64_t>& devices) {
  std::optional<std::int64_t> device;
  std::int64_t most = 0;
  for (const auto& [number, launches] : devices) {
    if (launches <= most) continue;
    most = launches;
    device = number;
  }
  return device;
}

struct Shares {
  std::map<std::string, TimeShare> phases, annotations;
};

void count_launch(const RawProfile& profile, const Launch& launch, double time, Shares& shares) {
  if (launch.phase != TracePhase::Unknown) {
    count(shares.phases, std::string(name_of(launch.phase)), time);
  }
  if (launch.range == 0 || launch.range > profile.ranges.size()) return;
  for (const std::string& name : profile.ranges[launch.range - 1]) {
    count(shares.annotations, name, time);
  }
}

/// The launches on one device; phases and annotations are over all of them.
Intervals intervals_of(const RawProfile& profile, std::int64_t device, Shares& shares) {
  Intervals all;
  for (const KernelSeries& kernel : profile.kernels) {
    const Column* times = kernel.find("duration");
    if (times == nullptr || times->missing > 0 || !lists_launches(kernel)) continue;
    const bool collective = communicates(kernel.name);
    for (std::size_t i = 0; i < kernel.launch_list.size(); ++i) {
      const Launch& launch = kernel.launch_list[i];
      const double time = times->values[i];
      count_launch(profile, launch, time, shares);
      if (!launch.begin || launch.device != device) continue;
      all.push_back({.begin = *launch.begin,
                     .end = *launch.begin + time,
                     .called = launch.called,
                     .communication = collective});
    }
  }
  return all;
}

}  // namespace

std::optional<Timeline> timeline_of(const RawProfile& profile) {
  constexpr std::size_t kMostAnnotationsShown = 20;
  std::map<std::int64_t, std::int64_t> devices;
  for (const KernelSeries& kernel : profile.kernels) {
    for (const Launch& launch : kernel.launch_list) {
      if (launch.begin) devices[launch.device] += 1;
    }
  }
  const auto device = main_device(devices);
  Shares shares;
  Intervals all = device ? intervals_of(profile, *device, shares) : Intervals{};
  if (all.empty()) return std::nullopt;
  Intervals communication, others;
  for (const Interval& one : all) (one.communication ? communication : others).push_back(one);
  for (const Activity& copy : profile.copies) {
    if (copy.device == *device) all.push_back({.begin = copy.begin, .end = copy.end, .called = {}});
  }
  Timeline timeline;
  timeline.devices = static_cast<std::int64_t>(devices.size());
  const Intervals busy = merged(all), sent = merged(communication), rest = merged(others);
  timeline.span = Seconds::from_base(busy.back().end - busy.front().begin);
  timeline.busy = Seconds::from_base(length(busy));
  timeline.idle = max(timeline.span - timeline.busy, Seconds{});
  timeline.communication = Seconds::from_base(length(sent));
  timeline.exposed_communication =
      max(timeline.communication - Seconds::from_base(common(sent, rest)), Seconds{});
  add_lateness(all, timeline);
  timeline.phases = ranked(shares.phases, shares.phases.size());
  timeline.annotations = ranked(shares.annotations, kMostAnnotationsShown);
  return timeline;
}

}  // namespace rooftile::profile
