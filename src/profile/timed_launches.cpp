// SPDX-License-Identifier: Apache-2.0
#include "profile/timed_launches.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <set>

namespace rooftile::profile {

namespace {

constexpr std::size_t kMostAnnotations = std::size_t{1} << 20;
constexpr std::size_t kMostNests = std::size_t{1} << 16;
constexpr std::size_t kMostCopies = std::size_t{1} << 20;

double seconds(std::int64_t begin, std::int64_t end) {
  return 1e-9 * (static_cast<double>(end) - static_cast<double>(begin));
}

double duration_of(const TimedLaunch& launch) {
  return launch.seconds.value_or(seconds(launch.begin, launch.end));
}

}  // namespace

void TimedLaunches::add(TimedLaunch launch) {
  builder_.series(launch.kernel).rows += 1;
  if (launches_.size() < static_cast<std::size_t>(kMaxLaunches)) {
    by_correlation_[static_cast<std::uint64_t>(launch.correlation)].launches.push_back(
        launches_.size());
    launches_.push_back(std::move(launch));
    return;
  }
  full_ = true;
  builder_.add(launch.kernel, "duration", duration_of(launch), 1.0);
}

void TimedLaunches::tell_ranks_apart(const std::vector<HostCall>& calls) {
  using Ranks = std::map<std::int64_t, std::set<std::int64_t>>;  ///< of each correlation
  Ranks processes, devices;
  const bool several = std::any_of(calls.begin(), calls.end(), [&calls](const HostCall& call) {
    return call.thread.first != calls.front().thread.first;
  });
  if (!several) return;
  for (const HostCall& call : calls) processes[call.correlation].insert(call.thread.first);
  std::erase_if(processes, [](const auto& entry) { return entry.second.size() < 2; });
  if (processes.empty()) return;
  for (const TimedLaunch& launch : launches_) {
    if (processes.contains(launch.correlation)) devices[launch.correlation].insert(launch.device);
  }
  for (TimedLaunch& launch : launches_) {
    const auto ranks = processes.find(launch.correlation);
    if (ranks == processes.end()) continue;
    const std::set<std::int64_t>& own = devices[launch.correlation];
    if (own.size() != ranks->second.size()) continue;
    const auto place = std::distance(own.begin(), own.find(launch.device));
    launch.process = *std::next(ranks->second.begin(), place);
  }
}

void TimedLaunches::call(std::int64_t correlation, const Thread& thread, std::int64_t moment) {
  const auto found = by_correlation_.find(static_cast<std::uint64_t>(correlation));
  constexpr int kMostClaims = 64;  // one per process, and some of the driver below the runtime
  if (found == by_correlation_.end() || ++found->second.calls > kMostClaims) return;
  for (const std::size_t i : found->second.launches) {
    TimedLaunch& launch = launches_[i];
    if (launch.called || (launch.process != 0 && launch.process != thread.first)) continue;
    launch.called = moment;
    launch.thread = thread;
  }
}

void TimedLaunches::annotate(const Thread& thread, const Span& span, std::string name) {
  constexpr std::size_t kLongestName = 1 << 10;
  if (annotations_ == kMostAnnotations) return;
  annotations_ += 1;
  if (name.size() > kLongestName) name.resize(kLongestName);
  const auto [it, fresh] =
      name_index_.try_emplace(std::move(name), static_cast<std::uint32_t>(names_.size()));
  if (fresh) names_.push_back(it->first);
  nesting_.add(thread, span, it->second);
}

void TimedLaunches::copy(std::int64_t begin, std::int64_t end, std::int64_t device) {
  copied_ += 1;
  copy_time_ += std::clamp<std::int64_t>(end - begin, 0, std::int64_t{1} << 50);
  busy(begin, end, device);
}

void TimedLaunches::busy(std::int64_t begin, std::int64_t end, std::int64_t device) {
  if (copies_.size() < kMostCopies) {
    copies_.push_back(
        {.begin = static_cast<double>(begin), .end = static_cast<double>(end), .device = device});
  }
}

/// The nest of annotations around a launch's call, outermost first, as an index of the profile.
/// A backward pass runs on a thread of its own, while the one that asked for it waits inside the
/// annotations that were meant.
std::uint32_t TimedLaunches::range_of(const TimedLaunch& launch) {
  if (!launch.called || nesting_.empty()) return 0;
  std::vector<std::string> nest;
  for (const std::uint32_t id : nesting_.around(launch.thread, *launch.called)) {
    nest.push_back(names_[id]);
  }
  if (launch.phase == TracePhase::Backward) {
    for (const std::uint32_t id : nesting_.around_elsewhere(launch.thread, *launch.called)) {
      nest.push_back(names_[id]);
    }
  }
  if (nest.empty()) return 0;
  std::reverse(nest.begin(), nest.end());
  auto& ranges = builder_.profile().ranges;
  if (nests_.size() == kMostNests && !nests_.contains(nest)) return 0;
  const auto [it, fresh] = nests_.try_emplace(nest, static_cast<std::uint32_t>(ranges.size() + 1));
  if (fresh) ranges.push_back(std::move(nest));
  return it->second;
}

void TimedLaunches::finish() {
  nesting_.seal();
  std::stable_sort(launches_.begin(), launches_.end(),
                   [](const TimedLaunch& a, const TimedLaunch& b) { return a.begin < b.begin; });
  const std::int64_t zero = launches_.empty() ? 0 : launches_.front().begin;
  for (const TimedLaunch& one : launches_) {
    Launch launch{.grid = one.grid, .block = one.block};
    if (one.placed) launch.begin = seconds(zero, one.begin);
    launch.work = one.work;
    launch.phase = one.phase;
    if (one.called) launch.called = seconds(zero, *one.called);
    launch.device = one.device;
    launch.range = range_of(one);
    builder_.add_launch(one.kernel, launch);
    builder_.add(one.kernel, "duration", duration_of(one), 1.0);
    for (const auto& [metric, value] : one.counters) builder_.add(one.kernel, metric, value, 1.0);
  }
  RawProfile& profile = builder_.profile();
  for (Activity copy : copies_) {
    copy.begin = 1e-9 * (copy.begin - static_cast<double>(zero));
    copy.end = 1e-9 * (copy.end - static_cast<double>(zero));
    profile.copies.push_back(copy);
  }
  if (copied_ > 0) {
    profile.notes.push_back(fmt::format("left out, as they are not kernels: {} ({:.3f} ms)",
                                        copied_ == 1
                                            ? std::string("1 memory copy or fill")
                                            : fmt::format("{} memory copies and fills", copied_),
                                        1e-6 * static_cast<double>(copy_time_)));
  }
  if (full_) {
    profile.notes.push_back(
        fmt::format("only the first {} launches are known one by one; of the others only the times "
                    "are counted",
                    kMaxLaunches));
  }
}

}  // namespace rooftile::profile
