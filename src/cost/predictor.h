// SPDX-License-Identifier: Apache-2.0
//
// The seam between "what a kernel does" and "how long it takes". bind() checks once that the
// machine states everything the kernels need; after that nothing can fail.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "core/catalog.h"
#include "core/result.h"
#include "cost/bound.h"
#include "cost/constants.h"
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
};

/// Looks up the rate of every kernel; a dtype or unit that the machine does not state is an error
/// that names the missing field.
Result<Job> bind(const ops::KernelWork& work, const hardware::Machine& machine);

/// Between two kernels of one stream: measured on the machine, else that of the measured steps.
Seconds launch_gap(const hardware::Machine& machine, const StepConstants& constants);
/// Adds the gap behind a kernel; a bound has none.
void add_launch_gap(Seconds gap, Estimate& estimate);

class Predictor {
 public:
  Predictor() = default;
  Predictor(const Predictor&) = delete;
  Predictor& operator=(const Predictor&) = delete;
  virtual ~Predictor() = default;
  /// Fails where the GPU's file lacks a field that the estimate depends on; to be asked once per
  /// machine, before estimate().
  [[nodiscard]] Status check(const hardware::Machine& machine) const { return do_check(machine); }
  /// Never faster than the bound, never NaN; the same inputs give the same bytes out.
  [[nodiscard]] Estimate estimate(const Job& job, const hardware::Machine& machine) const {
    Estimate estimate = do_estimate(job, machine);
    if (job.setting == Setting::InStream)
      add_launch_gap(launch_gap(machine, constants_.step), estimate);
    return estimate;
  }
  [[nodiscard]] std::string_view name() const { return do_name(); }
  /// The record of its weights; empty for one that was made in memory (a refit).
  [[nodiscard]] const Input& input() const { return input_; }
  void set_input(Input input) { input_ = std::move(input); }
  /// What steps, links and convolutions take beside it: its own, or those of the default.
  [[nodiscard]] const Constants& constants() const { return constants_; }
  void set_constants(Constants constants) { constants_ = std::move(constants); }

 private:
  [[nodiscard]] virtual Status do_check(const hardware::Machine& /*machine*/) const { return {}; }
  /// Without the gap behind the kernel.
  [[nodiscard]] virtual Estimate do_estimate(const Job& job,
                                             const hardware::Machine& machine) const = 0;
  [[nodiscard]] virtual std::string_view do_name() const = 0;

  Input input_;
  Constants constants_;
};

/// Names that make_predictor accepts, the default first.
std::span<const std::string_view> predictor_names();

/// `name` empty takes the default; a folder (contains '/') holds weights that `rooftile fit` wrote.
Result<std::unique_ptr<Predictor>> make_predictor(std::string_view name, const Catalog& catalog);

}  // namespace rooftile::cost
