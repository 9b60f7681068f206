// SPDX-License-Identifier: Apache-2.0
//
// The fitted numbers that no single class of kernels owns: how convolutions run (time_machine.h),
// what a step adds to its kernels (aggregate/step.h) and what collectives reach of a link
// (aggregate/communication.h). They are part of a predictor's file of weights; predictors without
// one of their own take those of the default.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "cost/parameter.h"

namespace rooftile::cost {

/// Tiled products and convolutions by the streams of their kernels, one set for all GPUs.
struct TimeConstants {
  double watt_28nm = 0, watt_16nm = 0, watt_7nm = 0, watt_5nm = 0, power_exponent = 0;
  double issue = 0, issue_wide = 0, latency_floor = 0, latency_miss = 0;
  double prologue = 0, epilogue = 0;
  double fused_extra = 0, fused_cta = 0, nonfused_extra = 0, nonfused_launch = 0, l2_residency = 0;
  double small_tile_extra = 0, small_tile_prologue = 0, fft_extra = 0, fft_launch = 0;
  double direct_efficiency = 0;
  double gradient = 0, strided_epilogue = 0;
  double filter_gradient = 0, filter_gradient_tap = 0, filter_gradient_tile = 0;
  double filter_gradient_output = 0;
  double dram = 0, cache = 0, launch = 0, spread = 0, spread_uncalibrated = 0;
};
std::span<const Parameter<TimeConstants>> parameters_of(const TimeConstants& form);

struct TimeModel {
  TimeConstants constants;
  std::vector<std::string> architectures;  ///< of the GPUs whose convolutions were fitted
};

/// From kernels to a step.
struct StepConstants {
  double gap = 0, host_launch = 0, host_spread = 0, error_correlation = 0;
};
std::span<const Parameter<StepConstants>> parameters_of(const StepConstants& form);

/// One kind of link.
struct LinkForm {
  double efficiency = 0, start = 0, step = 0, ramp = 0, spread = 0;
};
std::span<const Parameter<LinkForm>> parameters_of(const LinkForm& form);

/// What both kinds share.
struct LinkShape {
  double ramp_exponent = 0, network_spread = 0;
};
std::span<const Parameter<LinkShape>> parameters_of(const LinkShape& form);

struct LinkConstants {
  LinkForm fabric, pcie;
  LinkShape shape;
};

struct Constants {
  TimeModel convolution;
  StepConstants step;
  LinkConstants links;
};

}  // namespace rooftile::cost
