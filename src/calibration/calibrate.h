// SPDX-License-Identifier: Apache-2.0
//
// What was measured on one machine -> the calibration of its machine file. Kernels give the
// posterior of cost/learned/calibrated.h: its widths per family are those that make the rows
// likeliest, held by priors, and rows that fit nothing are doubted. Steps and collectives then give
// a few factors each, with priors that one row moves and three rows do not run away from.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "calibration/dataset.h"
#include "cost/learned/calibrated.h"
#include "cost/predictor.h"
#include "hardware/calibration.h"
#include "hardware/machine.h"

namespace rooftile::calibration {

/// A kernel with the time of one launch.
struct MeasuredKernel {
  ops::KernelWork work;
  double seconds = 0;
  cost::Setting setting = cost::Setting::Isolated;
  bool gap = true;         ///< a time within a stream has the gap behind the kernel in it
  std::string place = {};  ///< "file.csv:12", "trace.json"
};

/// One row, as the predictor sees it without a calibration.
struct CalibrationCase {
  std::string name;  ///< "linear 512x768x768 bf16"
  std::string place;
  cost::learned::KernelPoint point;
  double measured = 0, predicted = 0, bound = 0;  ///< seconds, without the gap

  [[nodiscard]] double residual() const;
  /// With the logarithm of a correction; never below the bound.
  [[nodiscard]] double corrected(double log) const;
};

/// Fails where the machine has no rate for the kernel.
Result<CalibrationCase> calibration_case(const MeasuredKernel& kernel,
                                         const cost::Predictor& predictor,
                                         cost::Estimator& estimator);
/// The kernels of a data set that were timed on its GPU `gpu`.
std::vector<MeasuredKernel> kernels_of(const Dataset& dataset, std::uint32_t gpu);

/// The posterior of the cases; more than kMostCalibrationRows are thinned out evenly in time.
hardware::Calibration calibrate_kernels(std::span<const CalibrationCase> cases,
                                        const cost::Predictor& predictor);
/// With the priors alone: what nothing was measured for.
hardware::Calibration uncalibrated(const cost::Predictor& predictor,
                                   std::span<const std::string_view> families);

/// A step, and what its predicted time is made of.
struct StepCaseOf {
  std::string name = {};
  double measured_ms = 0, predicted_ms = 0;
  double compute = 0, memory = 0, host = 0;  ///< shares of the predicted time
};
/// Changes `factors` by what the steps, predicted with them, still miss; to be repeated.
/// Gives how much the steps tell of compute, memory and host, 0 to 1.
std::array<double, 3> calibrate_steps(std::span<const StepCaseOf> steps,
                                      hardware::StepFactors& factors);

/// What collectives say of the links, and how much they tell, 0 to 1; nothing without rows.
struct CalibratedLinks {
  hardware::LinkFactors factors;
  double bandwidth_told = 0, start_told = 0;
};
std::optional<CalibratedLinks> calibrate_links(std::span<const Collective> rows,
                                               const cost::LinkConstants& constants);

}  // namespace rooftile::calibration
