// SPDX-License-Identifier: Apache-2.0
#include "cost/constants.h"

#include <array>

namespace rooftile::cost {

namespace {

// name, member, unit, meaning, limits, start, fitted
constexpr std::array kClockParameters{
    Parameter<ClockConstants>{"watt_28nm", &ClockConstants::watt_28nm, "W / (TFLOP/s)",
                              "that a 28 nm board draws under FP32 convolutions", 1, 1000, 50,
                              true},
    Parameter<ClockConstants>{"watt_16nm", &ClockConstants::watt_16nm, "W / (TFLOP/s)",
                              "the same at 16 nm", 0.5, 500, 15, true},
    Parameter<ClockConstants>{"share_12nm", &ClockConstants::share_12nm, "1",
                              "of the power at 16 nm: the foundries' statements about power at "
                              "equal speed, one step after the other",
                              0.02, 2, 0.9, false},
    Parameter<ClockConstants>{"share_8nm", &ClockConstants::share_8nm, "1",
                              "the same at 8 nm; published FP32 rates of A40 agree within 5 %",
                              0.02, 2, 0.65, false},
    Parameter<ClockConstants>{"share_7nm", &ClockConstants::share_7nm, "1", "the same at 7 nm",
                              0.02, 2, 0.50, false},
    Parameter<ClockConstants>{"share_6nm", &ClockConstants::share_6nm, "1", "the same at 6 nm",
                              0.02, 2, 0.45, false},
    Parameter<ClockConstants>{"share_5nm", &ClockConstants::share_5nm, "1", "the same at 5 nm",
                              0.02, 2, 0.34, false},
    Parameter<ClockConstants>{"share_4nm", &ClockConstants::share_4nm, "1",
                              "the same at 4 nm and below; published FP32 rates of L40 agree "
                              "within 6 %",
                              0.02, 2, 0.30, false},
    Parameter<ClockConstants>{"tensor_share", &ClockConstants::tensor_share, "1",
                              "of that power per FLOP, for 16-bit products on tensor units at "
                              "1410 MHz in short campaigns: set by hand",
                              0.001, 2, 0.104, false},
    Parameter<ClockConstants>{"tensor_narrow", &ClockConstants::tensor_narrow, "1",
                              "of that where the operands are half as wide: set by hand", 0.1, 1,
                              0.575, false},
    Parameter<ClockConstants>{"tensor_exponent", &ClockConstants::tensor_exponent, "log / log",
                              "slow-down per lack of power, which grows with the cube of the "
                              "clock: with a larger one a higher clock would be slower",
                              0.1, 1.0 / 3, 1.0 / 3, false},
    Parameter<ClockConstants>{
        "tensor_sustained", &ClockConstants::tensor_sustained, "1",
        "of their power in short campaigns, under lasting load, over the root "
        "of the process's share: set by hand so that H200 slows down as "
        "measured at its limit and A100 PCIe, A40 and RTX A6000 do not",
        0.1, 5, 0.87, false}};
constexpr std::array kShareParameters{
    Parameter<AttainedShares>{"usual", &AttainedShares::usual, "1",
                              "of a memory of no known kind, by kernels that only stream", 0.02,
                              1.5, 0.85, false},
    Parameter<AttainedShares>{"products", &AttainedShares::products, "1",
                              "by matrix products, one for all GPUs: what is known of single GPUs "
                              "predicts left-out ones worse",
                              0.02, 1.5, 0.86, false},
    Parameter<AttainedShares>{"convolutions", &AttainedShares::convolutions, "1",
                              "the same by convolutions", 0.02, 1.5, 0.82, false}};
constexpr std::array kNeighbourParameters{
    Parameter<NeighbourConstants>{"radius", &NeighbourConstants::radius, "octaves",
                                  "of m, n and k that a measured product reaches: chosen on "
                                  "left-out GPUs",
                                  0.05, 10, 0.75, false},
    Parameter<NeighbourConstants>{"batch", &NeighbourConstants::batch, "octaves",
                                  "that an octave of the batch counts: it hardly changes which "
                                  "kernel runs",
                                  0, 2, 0.3, false},
    Parameter<NeighbourConstants>{"doubt", &NeighbourConstants::doubt, "1",
                                  "weight of nothing: a lone neighbour at the edge says little", 0,
                                  10, 0.05, false}};
constexpr std::array kIntervalParameters{
    Parameter<IntervalConstants>{"uncalibrated", &IntervalConstants::uncalibrated, "log",
                                 "at least, where the class has no rows of this vendor or dtype", 0,
                                 5, 0.5, false},
    Parameter<IntervalConstants>{"per_octave", &IntervalConstants::per_octave, "log / octave",
                                 "more for every octave of a size beyond those that were fitted", 0,
                                 5, 0.1, false},
    Parameter<IntervalConstants>{
        "per_factor", &IntervalConstants::per_factor, "log / log",
        "more for what-if machines, per |log factor|: products measured on H100 and H200", 0, 5,
        0.3, false}};
constexpr std::array kTimeParameters{
    Parameter<TimeConstants>{"issue", &TimeConstants::issue, "clocks",
                             "per clock of pure multiply-adds", 0.5, 10, 1.0, true},
    Parameter<TimeConstants>{"issue_wide", &TimeConstants::issue_wide, "clocks",
                             "more where a scheduler must feed 32 lanes", 0, 10, 0.1, true},
    Parameter<TimeConstants>{"latency_floor", &TimeConstants::latency_floor, "clocks",
                             "of an iteration whose loads hit L1", 0, 10000.0, 80, false},
    Parameter<TimeConstants>{"latency_miss", &TimeConstants::latency_miss, "clocks",
                             "more when all of them miss", 0, 100000.0, 1000, true},
    Parameter<TimeConstants>{"prologue", &TimeConstants::prologue, "clocks", "of a CTA", 0,
                             100000.0, 500, true},
    Parameter<TimeConstants>{"epilogue", &TimeConstants::epilogue, "clocks",
                             "of a CTA, per 128 outputs", 0, 1000.0, 5, true},
    Parameter<TimeConstants>{"fused_extra", &TimeConstants::fused_extra, "clocks",
                             "F(2x2,3x3): input transform in the main loop", 0, 10, 0.1, true},
    Parameter<TimeConstants>{"fused_cta", &TimeConstants::fused_cta, "clocks",
                             "its output transform, of a CTA", 0, 1000000.0, 5000, true},
    Parameter<TimeConstants>{"nonfused_launch", &TimeConstants::nonfused_launch, "s",
                             "of the three transform kernels of F(4x4,3x3): a gap each", 0, 0.1,
                             9e-06, false},
    Parameter<TimeConstants>{"nonfused_filters", &TimeConstants::nonfused_filters, "1",
                             "of the attained DRAM bandwidth, by the transform of its filters",
                             0.01, 1, 0.5, true},
    Parameter<TimeConstants>{"small_tile_extra", &TimeConstants::small_tile_extra, "clocks",
                             "32x32 tiles: bound by shared memory", 0, 100, 1.0, true},
    Parameter<TimeConstants>{"small_tile_prologue", &TimeConstants::small_tile_prologue, "clocks",
                             "of their CTAs", 0, 100000.0, 600, false},
    Parameter<TimeConstants>{"fft_extra", &TimeConstants::fft_extra, "clocks",
                             "of the complex products, rough: about 80 rows ran them", 0, 10, 0.1,
                             false},
    Parameter<TimeConstants>{"fft_launch", &TimeConstants::fft_launch, "s",
                             "transform kernels, rough", 0, 0.1, 3e-05, false},
    Parameter<TimeConstants>{"direct_efficiency", &TimeConstants::direct_efficiency, "1",
                             "of peak, data gradients with few channels", 0.001, 1, 0.2, true},
    Parameter<TimeConstants>{"gradient", &TimeConstants::gradient, "1",
                             "data gradient over forward", 0.1, 10, 1.0, true},
    Parameter<TimeConstants>{"strided_epilogue", &TimeConstants::strided_epilogue, "clocks",
                             "per 128 outputs: scattered stores of a strided data gradient", 0,
                             100000.0, 100, true},
    Parameter<TimeConstants>{"filter_gradient", &TimeConstants::filter_gradient, "1",
                             "filter gradient over forward", 0.1, 10, 1.0, true},
    Parameter<TimeConstants>{"filter_gradient_tap", &TimeConstants::filter_gradient_tap, "1",
                             "more with few taps", 0, 10, 0.5, true},
    Parameter<TimeConstants>{"filter_gradient_tile", &TimeConstants::filter_gradient_tile, "clocks",
                             "extra of small tiles: shared-memory loads", 0, 10, 0.5, true},
    Parameter<TimeConstants>{"filter_gradient_output", &TimeConstants::filter_gradient_output,
                             "clocks", "of an SM per output: adding up its parts", 0, 1000.0, 1,
                             true},
    Parameter<TimeConstants>{"spread", &TimeConstants::spread, "1",
                             "the 80 % interval is time / spread to time * spread", 1, 100, 1.3,
                             false},
    Parameter<TimeConstants>{"spread_uncalibrated", &TimeConstants::spread_uncalibrated, "1",
                             "the same for kernels that nothing was fitted on", 1, 100, 2.0,
                             false}};
constexpr std::array kStepParameters{
    Parameter<StepConstants>{"gap", &StepConstants::gap, "s",
                             "between two kernels of one stream; measured steps differ from the "
                             "sum of their nodes by -30 "
                             "to +10 %, which hides it",
                             0, 1e-3, 3e-6, false},
    Parameter<StepConstants>{"host_launch", &StepConstants::host_launch, "s",
                             "of the host to launch one operator from Python", 0, 0.001, 7e-06,
                             true},
    Parameter<StepConstants>{"host_spread", &StepConstants::host_spread, "1",
                             "a step at the pace of the host takes time / spread to time * spread",
                             1, 10, 1.3, true},
    Parameter<StepConstants>{"error_correlation", &StepConstants::error_correlation, "1",
                             "of the errors of two operators of a step", 0, 1, 0.2, true}};
constexpr std::array kEagerParameters{
    Parameter<EagerConstants>{"dropout", &EagerConstants::dropout, "tensors",
                              "of its own size: the input, the result and a mask of bytes", 1, 20,
                              2.25, true},
    Parameter<EagerConstants>{"dropout_backward", &EagerConstants::dropout_backward, "tensors",
                              "the same backward, where the mask is expanded", 1, 20, 3, true},
    Parameter<EagerConstants>{"norm_backward", &EagerConstants::norm_backward, "tensors",
                              "of a layer norm, which reads its inputs again", 1, 20, 3, true},
    Parameter<EagerConstants>{"softmax_backward", &EagerConstants::softmax_backward, "tensors",
                              "the same of a softmax", 1, 20, 5, true},
    Parameter<EagerConstants>{"gelu_backward", &EagerConstants::gelu_backward, "tensors",
                              "gradient, input and result", 1, 20, 3, true},
    Parameter<EagerConstants>{"embedding", &EagerConstants::embedding, "tensors",
                              "of the rows that are looked up", 1, 20, 2, true},
    Parameter<EagerConstants>{"where", &EagerConstants::where, "tensors",
                              "a mask of bytes, the input and the result", 1, 20, 2.25, true},
    Parameter<EagerConstants>{"strided_copy", &EagerConstants::strided_copy, "1",
                              "rate of a copy with a stride over that of one without", 0.05, 1, 1,
                              true},
    Parameter<EagerConstants>{"accumulate", &EagerConstants::accumulate, "1",
                              "of the gradients are added to stored ones by a kernel of their own: "
                              "some of the traced ones are, others are written in place",
                              0, 1, 0.5, false}};
constexpr std::array kLinkParameters{
    Parameter<LinkForm>{"efficiency", &LinkForm::efficiency, "1",
                        "of the data sheet's rate, for long messages", 0.01, 1.5, 0.8, true},
    Parameter<LinkForm>{"start", &LinkForm::start, "s", "of a collective", 0, 0.1, 5e-06, true},
    Parameter<LinkForm>{"step", &LinkForm::step, "s", "of a step of its ring", 0, 0.1, 1e-06, true},
    Parameter<LinkForm>{"ramp", &LinkForm::ramp, "B", "the slow start of medium messages", 0,
                        10000000000.0, 1000000.0, true},
    Parameter<LinkForm>{"spread", &LinkForm::spread, "1",
                        "the 80 % interval is time / spread to time * spread", 1, 100, 1.2, true}};
constexpr std::array kLinkShapeParameters{
    Parameter<LinkShape>{"ramp_exponent", &LinkShape::ramp_exponent, "1",
                         "slow start = 1 + (ramp / bytes)^x", 0.05, 2, 0.4, false},
    Parameter<LinkShape>{
        "network_spread", &LinkShape::network_spread, "1",
        "networks take the fabric's numbers, with this interval: nobody measured them", 1, 100, 1.5,
        false}};

}  // namespace

std::span<const Parameter<ClockConstants>> parameters_of(const ClockConstants& /*form*/) {
  return kClockParameters;
}
std::span<const Parameter<AttainedShares>> parameters_of(const AttainedShares& /*form*/) {
  return kShareParameters;
}
std::span<const Parameter<NeighbourConstants>> parameters_of(const NeighbourConstants& /*form*/) {
  return kNeighbourParameters;
}
std::span<const Parameter<IntervalConstants>> parameters_of(const IntervalConstants& /*form*/) {
  return kIntervalParameters;
}
std::span<const Parameter<TimeConstants>> parameters_of(const TimeConstants& /*form*/) {
  return kTimeParameters;
}
std::span<const Parameter<StepConstants>> parameters_of(const StepConstants& /*form*/) {
  return kStepParameters;
}
std::span<const Parameter<EagerConstants>> parameters_of(const EagerConstants& /*form*/) {
  return kEagerParameters;
}
std::span<const Parameter<LinkForm>> parameters_of(const LinkForm& /*form*/) {
  return kLinkParameters;
}
std::span<const Parameter<LinkShape>> parameters_of(const LinkShape& /*form*/) {
  return kLinkShapeParameters;
}

Constants starting_constants() {
  Constants constants;
  constants.clock = starting<ClockConstants>();
  constants.convolution.constants = starting<TimeConstants>();
  constants.step = starting<StepConstants>();
  constants.eager[std::string(kAnyVendor)] = starting<EagerConstants>();
  constants.links = {
      .fabric = starting<LinkForm>(), .pcie = starting<LinkForm>(), .shape = starting<LinkShape>()};
  constants.neighbours = starting<NeighbourConstants>();
  constants.intervals = starting<IntervalConstants>();
  return constants;
}

const EagerConstants& eager_of(const Constants& constants, std::string_view vendor) {
  static const EagerConstants kUnknown;
  for (const std::string_view name : {vendor, kAnyVendor}) {
    if (const auto it = constants.eager.find(name); it != constants.eager.end()) return it->second;
  }
  return kUnknown;
}

void set_assumed(Constants& constants) {
  const auto reset = []<typename Form>(Form& form) {
    for (const Parameter<Form>& p : parameters_of(form)) {
      if (!p.fitted) form.*p.value = p.start;
    }
  };
  reset(constants.clock), reset(constants.convolution.constants), reset(constants.step);
  reset(static_cast<AttainedShares&>(constants.streaming)), reset(constants.links.shape);
  reset(constants.neighbours), reset(constants.intervals);
}

}  // namespace rooftile::cost
