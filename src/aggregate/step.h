// SPDX-License-Identifier: Apache-2.0
//
// From kernels to a step: what the in-stream estimates of single kernels add up to when a framework
// launches them one after another. Beyond the sum the measured steps show a host that needs a while
// to launch a kernel, and now and then waits for the device: the two are a timeline
// (aggregate/timeline.h). A bound has no host. Errors of kernels on one GPU are correlated (one
// clock, one memory system): the interval of the step does not shrink with the square root of their
// number; how much of it is common to all kernels is one number. These numbers are
// cost::StepConstants, fitted with the predictor, and those of the software stack
// (cost/stack_costs.h).
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "aggregate/communication.h"
#include "aggregate/timeline.h"
#include "core/units.h"
#include "cost/constants.h"
#include "cost/estimate.h"
#include "cost/stack_costs.h"
#include "execution/launches.h"

namespace rooftile::aggregate {

/// One kernel of the lowered graph with the estimate of a single launch.
struct OperatorEstimate {
  execution::Launch kernel;
  cost::Estimate estimate;
};

/// What GPUs tell each other, `count` times per step; overlapped or not (aggregate/parallel.h).
struct TransferEstimate {
  std::string name;
  std::string_view op;  ///< "all_reduce", "send"; static text
  execution::Phase phase = execution::Phase::Forward;
  std::int64_t count = 1;
  std::int64_t gpus = 2;
  Bytes bytes;
  TransferTime each;
  double hidden_fraction = 0;  ///< of the time, behind kernels
};

/// What the time of a step is made of, on a mean GPU:
///   total = kernels + communication - hidden + host + idle
struct StepParts {
  Seconds kernels;
  Seconds communication;  ///< hidden or not
  Seconds hidden;         ///< communication while kernels run
  Seconds host;           ///< the GPU waits for the host, which launches more slowly than it runs
  Seconds idle;           ///< the GPU waits for other stages of its pipeline

  [[nodiscard]] Seconds exposed() const { return communication - hidden; }
};

struct StepEstimate {
  Seconds total, low, high;
  Seconds bound;
  Flops flops;
  StepParts parts;
  /// Indexed by execution::Phase; with the waiting in it, without exposed communication.
  std::array<Seconds, 4> by_phase{};
  cost::Terms by_limiter{};  ///< time of the kernels that a resource limits
  /// Of one replica: all of its stages, all micro-batches. A mean GPU runs 1 / stages of them.
  std::vector<OperatorEstimate> operators;
  std::vector<TransferEstimate> transfers;  ///< several GPUs only
  std::int64_t stages = 1;

  [[nodiscard]] Seconds of(execution::Phase phase) const {
    return by_phase[static_cast<std::size_t>(phase)];
  }
  [[nodiscard]] Seconds of(cost::Resource limiter) const {
    return by_limiter[static_cast<std::size_t>(limiter)];
  }
};

/// What a step adds to its kernels.
struct StepCosts {
  HostCosts host;
  double host_spread = 1;        ///< the host's time lies within this factor
  double error_correlation = 0;  ///< of the errors of two kernels
};
/// An eager framework, from the numbers that are fitted with the kernels.
StepCosts step_costs(const cost::StepConstants& constants);
/// A stack; captured launches cost the host nothing each.
StepCosts step_costs(const cost::StepConstants& constants, const cost::StackForm& stack,
                     bool captured);

/// Adds up the kernels of a step, which come in the order of execution.
class StepSum {
 public:
  explicit StepSum(const StepCosts& costs) : costs_(costs), timeline_(costs.host) {}
  void add(const execution::Launch& kernel, const cost::Estimate& estimate);
  /// Without the list of operators.
  [[nodiscard]] StepEstimate step() const { return step(costs_.host_spread); }
  /// The same where the host's time lies within the factor `host_spread`.
  [[nodiscard]] StepEstimate step(double host_spread) const;

 private:
  /// Half of an interval, from equally correlated errors: the variance of the sum is
  ///   rho (sum of w)^2 + (1 - rho) sum of w^2
  /// with w = what an operator's launches together may be off. With many operators the first term
  /// stays: the width falls to sqrt(rho) of the sum of the widths and no further.
  struct CorrelatedWidth {
    Seconds sum;
    double squares = 0;
    void add(Seconds width);
    [[nodiscard]] Seconds total(double correlation) const;
  };
  StepCosts costs_;
  Timeline timeline_;
  StepEstimate sums_;
  CorrelatedWidth below_, above_;
  bool bound_only_ = true;
};

StepEstimate step_time(std::vector<OperatorEstimate> operators, const StepCosts& costs);

}  // namespace rooftile::aggregate
