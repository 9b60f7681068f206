// SPDX-License-Identifier: Apache-2.0
//
// A step on variants of its machine (hardware/factors.h): the same launches, estimated by the same
// predictor and summed by the same rules as the step itself, so that a study starts from the
// forecast and not from another model of it. A network on a variant takes some hundred
// microseconds.
//
// Tiles and algorithms are chosen anew for every variant from today's list: wider tiles that a
// machine with more registers could use are not invented.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "aggregate/step.h"
#include "core/result.h"
#include "cost/predictor.h"
#include "hardware/factors.h"

namespace rooftile::aggregate {

/// How the software launches the kernels of a step: what that costs, and the gap between two of
/// them where it is not the machine's (cost::Estimator::set_gap).
struct LaunchCosts {
  StepCosts step;
  std::optional<Seconds> gap = {};
};

/// The kernels of a step on a base machine, ready for many variants. Equal kernels are merged: a
/// variant costs one estimate per distinct kernel.
class ScalingStudy {
 public:
  /// An error where the machine states no rate that a kernel needs. `predictor` outlives the study.
  static Result<ScalingStudy> make(std::span<const execution::Launch> kernels,
                                   const hardware::Machine& machine,
                                   const cost::Predictor& predictor, const LaunchCosts& costs);

  [[nodiscard]] std::span<const execution::Launch> kernels() const { return kernels_; }
  [[nodiscard]] const hardware::Machine& machine() const { return machine_; }
  [[nodiscard]] const cost::Predictor& predictor() const { return *predictor_; }
  [[nodiscard]] const StepCosts& costs() const { return costs_.step; }
  /// The step of such estimates, one per kernel of kernels(), without its operators.
  [[nodiscard]] StepSum sum(std::span<const cost::Estimate> estimates) const;
  /// One launch within the step.
  [[nodiscard]] cost::Estimate kernel(std::size_t index, const hardware::Factors& factors) const;
  /// Without its operators.
  [[nodiscard]] StepEstimate step(const hardware::Factors& factors) const;
  /// All kernels of one variant, in order.
  [[nodiscard]] std::vector<cost::Estimate> launches(const hardware::Factors& factors) const;

 private:
  ScalingStudy(hardware::Machine machine, const cost::Predictor& predictor,
               const LaunchCosts& costs)
      : machine_(std::move(machine)), predictor_(&predictor), costs_(costs) {}
  [[nodiscard]] cost::Estimate estimate(std::size_t index, cost::Estimator& on) const;
  [[nodiscard]] cost::Estimator estimator(const hardware::Machine& machine) const;

  /// A launch of the step without its work, which is that of kernels()[kernel].
  struct Launched {
    execution::Launch launch;
    std::size_t kernel = 0;
  };

  std::vector<execution::Launch> kernels_;
  std::vector<Launched> order_;  ///< of the step, as its timeline needs it
  hardware::Machine machine_;
  const cost::Predictor* predictor_;
  LaunchCosts costs_;
};

/// A step on a variant. Its interval takes the log half-widths of the kernels on the base machine
/// and adds cost::IntervalConstants::per_factor for every unit of |log factor|. The errors on the
/// base machine are common to both sides of a speed-up: only what the variant adds is in its
/// interval.
struct VariantEstimate {
  StepEstimate step;
  double speedup = 1, speedup_low = 1, speedup_high = 1;
};
VariantEstimate variant(const ScalingStudy& study, const hardware::Factors& factors);

/// Cost of a variant in units of the base GPU: the sum of weight * (factor - 1), for the clock
/// weight * (factor^3 - 1), as dynamic power grows with the cube of the frequency. The weights are
/// assumptions about area, pins and power, not measurements.
struct CostModel {
  std::array<double, hardware::kMachineKeys> weight{0.50, 0.25, 0.12, 0.03, 0.03,
                                                    0.06, 0.10, 0.25, 0.30};
  [[nodiscard]] double cost(const hardware::Factors& factors) const;
};

/// Beyond `factor` of one quantity alone nothing is gained to speak of: twice as much of it makes
/// the time less than 5 % shorter. Overlap is smooth in this model, so that a little always is.
struct BalancePoint {
  hardware::MachineKey key = hardware::MachineKey::Sms;
  double factor = 1;         ///< up to 16
  double speedup = 1;        ///< at that factor
  double speedup_at_2x = 1;  ///< with twice as much of it alone
};

struct BalancePoints {
  std::array<BalancePoint, hardware::kMachineKeys> step;
  std::vector<std::array<BalancePoint, hardware::kMachineKeys>> kernels;  ///< of each kernel alone
};
/// Of the whole step and of its kernels.
BalancePoints balance_points(const ScalingStudy& study);

struct Optimum {
  hardware::Factors factors;
  double cost = 0, speedup = 1;
  std::int64_t variants = 0;  ///< machines tried
};
/// The cheapest factors found (steps of 1.1 to 8) that reach `target`; nothing when everything at 8
/// does not. A descent from several starts with exchanges between two keys: a local optimum, no
/// proof of the global one.
std::optional<Optimum> optimize(const ScalingStudy& study, double target, const CostModel& cost);

}  // namespace rooftile::aggregate
