// SPDX-License-Identifier: Apache-2.0
//
// From a launch of a trace to the operator that asked for it. The call of a launch lies within the
// operators of its thread, innermost first; where the trace has no such call, its number of the
// operator tells (newer traces; older ones repeat the correlation there, which names no operator).
// The innermost operator whose work is known (profile/traced_operator.h) owns the launch, and of
// the launches that one call of it makes, the longest kernel carries its work: the others are
// helpers (a split-K sum, a copy of the bias, a change of layout). A convolution whose strides the
// trace does not have takes them from the operator that reads its result. Launches whose call is
// not in the trace take the work that all others of the same kernel and grid have.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "profile/nesting.h"
#include "profile/raw_profile.h"
#include "profile/timed_launches.h"
#include "profile/traced_operator.h"

namespace rooftile::profile {

class OperatorLinks {
 public:
  /// A call of an operator, or an annotation (without inputs). Without a time only its number can
  /// tell its launches.
  void add(const Thread& thread, const std::optional<Span>& span, TracedOperator traced,
           std::optional<std::int64_t> external);
  /// For a launch that says itself what it does (TimedLaunch::stated).
  std::uint32_t stated(TracedOperator traced) { return signature_of(std::move(traced)) + 1; }
  /// GPUs of the whole job, for collectives that do not name their group.
  void set_world(std::int64_t gpus) { world_ = gpus; }
  /// Sets work and phase of the launches; works and notes go to the profile.
  void link(std::vector<TimedLaunch>& launches, RawProfile& profile);

 private:
  struct Signature {
    std::string name;
    TracedWorks works;
    TracePhase phase = TracePhase::Forward;
    std::vector<std::int64_t> first = {};     ///< shape of its first tensor
    std::optional<TracedOperator> open = {};  ///< what only the rest of the trace completes
    bool untyped = false;                     ///< a list of tensors whose type only a kernel tells
    std::int64_t launches = 0;                ///< that carry its work
  };
  struct Call {
    Thread thread;
    std::int64_t begin = 0;
    std::uint32_t signature = 0;
  };
  std::uint32_t signature_of(TracedOperator traced);
  std::uint32_t typed(std::uint32_t signature, std::string_view kernel);
  void complete_groups();
  void complete_convolutions();
  [[nodiscard]] std::vector<std::int64_t> result_of(std::uint32_t call) const;
  [[nodiscard]] std::optional<std::uint32_t> owner_of(TimedLaunch& launch) const;
  void tell_assumptions(RawProfile& profile) const;
  std::vector<std::uint32_t> calls_around(const TimedLaunch& launch) const;
  void assign(std::uint32_t signature, const std::vector<std::size_t>& launches,
              std::vector<TimedLaunch>& all, RawProfile& profile);
  std::uint32_t work_index(std::uint32_t signature, std::size_t work, std::size_t launches,
                           RawProfile& profile);
  static void infer(std::vector<TimedLaunch>& launches, RawProfile& profile);

  std::vector<Signature> signatures_ = std::vector<Signature>(1);  ///< the first: not known
  std::unordered_map<std::string, std::uint32_t> index_;
  std::vector<Call> calls_;
  std::unordered_map<std::int64_t, std::uint32_t> by_external_;
  Nesting nesting_;
  std::int64_t world_ = 0;
  std::map<std::tuple<std::uint32_t, std::size_t, std::size_t>, std::uint32_t> works_;
};

}  // namespace rooftile::profile
