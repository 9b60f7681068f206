// SPDX-License-Identifier: Apache-2.0
//
// What databases and traces know about a launch beyond its kernel: when it ran and on which device,
// when and on which thread the host called for it, and the annotations around that call. They are
// collected here in any order and handed to a ProfileBuilder in the order of their starts.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "profile/nesting.h"
#include "profile/raw_profile.h"

namespace rooftile::profile {

struct TimedLaunch {
  std::size_t kernel = 0;  ///< of the builder
  std::int64_t begin = 0, end = 0;
  std::int64_t device = 0;
  std::optional<Dim3> grid = {}, block = {};
  std::int64_t process = 0, correlation = 0;  ///< what joins it with its call
  std::optional<std::int64_t> called = {};    ///< when the host called for it
  Thread thread = {};                         ///< that called
  std::vector<std::pair<std::string, double>> counters = {};
  std::optional<double> seconds = {};         ///< its time, where that is finer than the two above
  bool placed = true;                         ///< false: `begin` is not known
  std::optional<std::int64_t> external = {};  ///< a trace's number of the operator
  std::uint32_t stated = 0;  ///< signature of OperatorLinks that the launch itself states, from 1
  std::uint32_t work = 0;    ///< of the profile, from 1
  TracePhase phase = TracePhase::Unknown;
};

/// A call of the host that launches something.
struct HostCall {
  std::int64_t correlation = 0;
  Thread thread;
  std::int64_t moment = 0;
};

class TimedLaunches {
 public:
  explicit TimedLaunches(ProfileBuilder& builder) : builder_(builder) {}

  /// Beyond a bound only the time is kept, as a value of its kernel.
  void add(TimedLaunch launch);
  /// Traces of several ranks that were merged count correlations from the same start: where as many
  /// processes as devices have one, the processes get the devices in their order.
  void tell_ranks_apart(const std::vector<HostCall>& calls);
  /// A call of the host; to be told after all launches.
  void call(std::int64_t correlation, const Thread& thread, std::int64_t moment);
  /// An annotation of the program.
  void annotate(const Thread& thread, const Span& span, std::string name);
  void copy(std::int64_t begin, std::int64_t end, std::int64_t device);
  /// Something that is neither a kernel nor a copy keeps the device busy.
  void busy(std::int64_t begin, std::int64_t end, std::int64_t device);
  std::vector<TimedLaunch>& launches() { return launches_; }
  /// Hands everything to the builder.
  void finish();

 private:
  std::uint32_t range_of(const TimedLaunch& launch);

  ProfileBuilder& builder_;
  std::vector<TimedLaunch> launches_;
  struct Correlated {
    std::vector<std::size_t> launches;
    int calls = 0;  ///< that claimed them; a launch has one, a graph's launches share one
  };
  std::unordered_map<std::uint64_t, Correlated> by_correlation_;
  Nesting nesting_;
  std::vector<std::string> names_;  ///< of annotations, each once
  std::unordered_map<std::string, std::uint32_t> name_index_;
  std::size_t annotations_ = 0;
  std::map<std::vector<std::string>, std::uint32_t> nests_;
  std::vector<Activity> copies_;
  std::int64_t copied_ = 0, copy_time_ = 0;
  bool full_ = false;
};

}  // namespace rooftile::profile
