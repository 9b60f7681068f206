// SPDX-License-Identifier: Apache-2.0
//
// The seam between "what a kernel does" and "how long it takes". bind() checks once that the
// machine states everything the kernels need; after that nothing can fail.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "core/catalog.h"
#include "core/result.h"
#include "cost/attained.h"
#include "cost/bound.h"
#include "cost/constants.h"
#include "cost/conv_time.h"
#include "cost/estimate.h"
#include "hardware/machine.h"
#include "ops/kernel_work.h"
#include "rooftile/provenance.h"

namespace rooftile::cost {

/// What a kernel's time includes: everything that a benchmark of one operator sees, host included,
/// or what a kernel that follows others in a stream adds to their time, the gap before the next one
/// included.
enum class Setting : std::uint8_t { Isolated, InStream };

/// A kernel together with the rates of the machine it is to run on.
struct Job {
  ops::KernelWork work;
  Roof roof;
  Setting setting = Setting::InStream;
  hardware::RateKey units = {};  ///< whose rate the roof has
  /// Copies of the weights that take turns where the kernel is repeated with nothing in between:
  /// then it finds in L2 what of itself fits. 0: it finds nothing there.
  double copies = 0;
  /// A benchmark so short that the board's power does not yet set its clock, as it does in a step.
  bool burst = false;
};

/// Looks up the rate of every kernel; a dtype or unit that the machine does not state is an error
/// that names the missing field.
Result<Job> bind(const ops::KernelWork& work, const hardware::Machine& machine);

/// Adds the gap behind a kernel; a bound has none.
void add_launch_gap(Seconds gap, Estimate& estimate);

/// What a predictor knows of a machine by its names (id, chip, instruction set, sibling): looked up
/// once, so that an estimate is arithmetic.
struct MachineFacts {
  MachineFacts() = default;
  MachineFacts(const MachineFacts&) = delete;
  MachineFacts& operator=(const MachineFacts&) = delete;
  virtual ~MachineFacts() = default;
};

class Estimator;

class Predictor {
 public:
  Predictor() = default;
  Predictor(const Predictor&) = delete;
  Predictor& operator=(const Predictor&) = delete;
  virtual ~Predictor() = default;
  /// Fails where the GPU's file lacks a field that the estimate depends on; to be asked once per
  /// machine, before estimate().
  [[nodiscard]] Status check(const hardware::Machine& machine) const { return do_check(machine); }
  /// For many kernels on one machine, which outlives it as the predictor does.
  [[nodiscard]] Estimator on(const hardware::Machine& machine) const;
  /// Of one kernel. Never faster than the bound, never NaN; the same inputs give the same bytes
  /// out.
  [[nodiscard]] Estimate estimate(const Job& job, const hardware::Machine& machine) const {
    return estimate(job, machine, *do_prepare(machine), launch_gap(machine, constants_.step));
  }
  [[nodiscard]] std::string_view name() const { return do_name(); }
  /// The record of its weights; empty for one that was made in memory (a refit).
  [[nodiscard]] const Input& input() const { return input_; }
  void set_input(Input input) { input_ = std::move(input); }
  /// That, and the record of the file whose constants it takes over.
  [[nodiscard]] std::vector<Input> inputs() const;
  /// What steps, links and convolutions also need: its own, or those of the default.
  [[nodiscard]] const Constants& constants() const { return constants_; }
  void set_constants(Constants constants) { constants_ = std::move(constants); }
  void take_constants(Constants constants, Input origin) {
    constants_ = std::move(constants);
    constants_input_ = std::move(origin);
  }

 private:
  [[nodiscard]] virtual Status do_check(const hardware::Machine& /*machine*/) const { return {}; }
  [[nodiscard]] virtual std::unique_ptr<MachineFacts> do_prepare(
      const hardware::Machine& /*machine*/) const {
    return std::make_unique<MachineFacts>();
  }
  [[nodiscard]] Estimate estimate(const Job& job, const hardware::Machine& machine,
                                  MachineFacts& facts, Seconds gap) const {
    Estimate estimate = do_estimate(job, machine, facts);
    if (job.setting == Setting::InStream) add_launch_gap(gap, estimate);
    return estimate;
  }
  [[nodiscard]] virtual std::vector<ConvCandidate> do_convolutions(const Job& job,
                                                                   const hardware::Machine& machine,
                                                                   MachineFacts& facts) const;
  /// Without the gap behind the kernel. `facts` are those that do_prepare() gave for the machine;
  /// more may be added to them.
  [[nodiscard]] virtual Estimate do_estimate(const Job& job, const hardware::Machine& machine,
                                             MachineFacts& facts) const = 0;
  [[nodiscard]] virtual std::string_view do_name() const = 0;

  friend class Estimator;

  Input input_;
  Constants constants_;
  Input constants_input_;  ///< of a file that is not its own
};

/// A predictor on one machine; every estimate of a step, a study or a table goes through one. What
/// it looks up it keeps, so it belongs to one thread.
class Estimator {
 public:
  Estimator(const Predictor& predictor, const hardware::Machine& machine)
      : predictor_(&predictor),
        machine_(&machine),
        facts_(predictor.do_prepare(machine)),
        gap_(launch_gap(machine, predictor.constants().step)) {}

  /// As the function bind(), with the rates of a number format looked up once.
  [[nodiscard]] Result<Job> bind(const ops::KernelWork& work);
  [[nodiscard]] Estimate estimate(const Job& job) {
    return predictor_->estimate(job, *machine_, *facts_, gap_);
  }
  /// The ways in which a convolution may run as the predictor times them, fastest first.
  [[nodiscard]] std::vector<ConvCandidate> convolutions(const Job& job) {
    return predictor_->do_convolutions(job, *machine_, *facts_);
  }
  /// Between two kernels, where a software stack launches them otherwise than an eager framework.
  void set_gap(Seconds gap) { gap_ = gap; }
  [[nodiscard]] const hardware::Machine& machine() const { return *machine_; }

 private:
  struct Known {
    Roof roof;
    hardware::RateKey units;
  };
  const Predictor* predictor_;
  const hardware::Machine* machine_;
  std::unique_ptr<MachineFacts> facts_;
  Seconds gap_;
  std::array<std::array<std::optional<Known>, 2>, kAllDTypes.size()>
      known_{};  ///< by dtype, matrix
};

inline Estimator Predictor::on(const hardware::Machine& machine) const {
  return {*this, machine};
}

/// Names that make_predictor accepts, the default first.
std::span<const std::string_view> predictor_names();

/// `name` empty takes the default; a folder (contains '/') holds weights that `rooftile fit` wrote.
Result<std::unique_ptr<Predictor>> make_predictor(std::string_view name, const Catalog& catalog);

}  // namespace rooftile::cost
