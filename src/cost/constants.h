// SPDX-License-Identifier: Apache-2.0
//
// The fitted numbers that no single class of kernels owns: what kernels reach of a machine
// (attained.h), how convolutions run (time_machine.h), what a step adds to its kernels
// (aggregate/step.h), what eager kernels move (execution/eager.h), what collectives reach of a link (aggregate/communication.h), how far
// measured products reach and how intervals widen. They are part of a predictor's file of weights;
// predictors without one of their own take those of the default.
#pragma once

#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "cost/parameter.h"
#include "execution/launches.h"

namespace rooftile::cost {

template <typename T>
using ByName = std::map<std::string, T, std::less<>>;

/// The clock that a board's power sustains.
struct ClockConstants {
  double watt_28nm = 0, watt_16nm = 0;
  double share_12nm = 0, share_8nm = 0, share_7nm = 0, share_6nm = 0, share_5nm = 0, share_4nm = 0;
  double tensor_share = 0, tensor_narrow = 0, tensor_exponent = 0, tensor_sustained = 0;
};
std::span<const Parameter<ClockConstants>> parameters_of(const ClockConstants& form);

/// Attained fractions of the DRAM bandwidth where nothing is known of the GPU: of kernels that only
/// stream, and of products and convolutions on any GPU.
struct AttainedShares {
  double usual = 1, products = 1, convolutions = 1;
};
std::span<const Parameter<AttainedShares>> parameters_of(const AttainedShares& form);

/// The same of kernels that only stream by what is known of the GPU, best known first.
struct Streaming : AttainedShares {
  ByName<double> measured;   ///< by GPU id, from the element-wise rows of the data
  ByName<double> published;  ///< by GPU id, from the catalogue
  ByName<double> sibling;    ///< by "instruction set/memory type"
  ByName<double> memory;     ///< by "hbm", "gddr"
};

/// Convolutions by the streams of their kernels, one set for all GPUs.
struct TimeConstants {
  double issue = 0, issue_wide = 0, latency_floor = 0, latency_miss = 0;
  double prologue = 0, epilogue = 0;
  double fused_extra = 0, fused_cta = 0, nonfused_launch = 0, nonfused_filters = 1;
  double small_tile_extra = 0, small_tile_prologue = 0, fft_extra = 0, fft_launch = 0;
  double direct_efficiency = 0;
  double gradient = 0, strided_epilogue = 0;
  double filter_gradient = 0, filter_gradient_tap = 0, filter_gradient_tile = 0;
  double filter_gradient_output = 0;
  double spread = 0, spread_uncalibrated = 0;
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

/// What an eager framework's kernels move.
struct EagerConstants : execution::TensorsMoved {};
std::span<const Parameter<EagerConstants>> parameters_of(const EagerConstants& form);
/// By vendor, whose libraries differ, and kAnyVendor.
using EagerByVendor = ByName<EagerConstants>;
inline constexpr std::string_view kAnyVendor = "any";

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

/// What a product that was measured says about one of another shape (learned/neighbours.h).
struct NeighbourConstants {
  double radius = 0, batch = 0, doubt = 0;
};
std::span<const Parameter<NeighbourConstants>> parameters_of(const NeighbourConstants& form);

/// Half-widths of the logarithm of a time, in addition to those of its class.
struct IntervalConstants {
  double uncalibrated = 0, per_octave = 0, per_factor = 0;
};
std::span<const Parameter<IntervalConstants>> parameters_of(const IntervalConstants& form);

struct Constants {
  ClockConstants clock;
  Streaming streaming;
  TimeModel convolution;
  StepConstants step;
  EagerByVendor eager;
  LinkConstants links;
  NeighbourConstants neighbours;
  IntervalConstants intervals;
};

/// What kernels move on GPUs of the vendor, as its name is written in the catalogue.
const EagerConstants& eager_of(const Constants& constants, std::string_view vendor);

/// All of them at the starts of their lists.
Constants starting_constants();
/// Those that no row decides, at the starts of their lists.
void set_assumed(Constants& constants);

}  // namespace rooftile::cost
