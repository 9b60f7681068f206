// SPDX-License-Identifier: Apache-2.0
//
// A GPU as the analytical time model sees it: a handful of numbers that `rooftile scale`
// multiplies. Rates are those of the data sheet (or of measured ceilings) at the clock that the
// board's power sustains:
//
//   clock = min(boost, middle * (W per TFLOP/s of the board at `middle` / W per TFLOP/s that the
//                                process needs)^0.63),    middle = sqrt(base * boost)
//
// with 49 W (28 nm), 13.5 W (16 and 12 nm), 7.4 W (8 and 7 nm) and 2.8 W (5 nm and below). The
// first two are fitted on M40, TITAN X, P4 and T4; the others follow published clocks of A40 and
// L40 and are an extrapolation. Base and boost are both a vendor's choice, the one cautious (T4),
// the other hopeful (M40, which is 6 % slower than TITAN X, the same chip with less boost): their
// middle predicts left-out boards better than either. A GPU whose file states no power or process
// keeps its boost clock, one without base clock has boost as its middle. Measured ceilings are what
// was sustained: no power is taken from them again.
#pragma once

#include <array>
#include <optional>
#include <string_view>

#include "core/result.h"
#include "core/units.h"
#include "hardware/machine.h"
#include "ops/kernel_work.h"
#include "traffic/access.h"

namespace rooftile::cost {

/// The fitted constants of the time model, one set for all GPUs. `rooftile traffic --validate FILE
/// --leave-one-gpu-out` fits them anew without each GPU of a file.
struct TimeConstants {
  double watt_28nm = 49, watt_16nm = 13.5;  ///< per TFLOP/s; 16 and 12 nm are alike
  double issue = 1.0;                       ///< clocks per clock of pure multiply-adds
  double issue_wide = 0.18;                 ///< more where a scheduler must feed 32 lanes
  double latency_floor = 80;                ///< clocks per iteration when loads hit L1; not fitted
  double latency_miss = 935;                ///< more when all of them miss
  double prologue = 890, epilogue = 3.2;    ///< clocks per CTA; per CTA and 128 outputs
  double fused_extra = 0.156;               ///< F(2x2,3x3): input transform in the main loop
  double fused_cta = 5150;                  ///< clocks: its output transform, per CTA
  double nonfused_extra = 0.135;            ///< batched GEMM of F(4x4,3x3)
  double nonfused_launch = 30e-6;           ///< seconds, three transform kernels
  double l2_residency = 0.23;               ///< of L2 keeps an intermediate for the next kernel
  double small_tile_extra = 2.0;            ///< 32x32 tiles: bound by shared memory
  double direct_efficiency = 0.17;          ///< of peak, dgrad with few channels
  double gradient = 1.0;                    ///< dgrad over forward
  double strided_epilogue = 120;            ///< clocks per 128 outputs: its scattered stores
  double filter_gradient = 0.916;           ///< wgrad over forward
  double filter_gradient_tap = 0.395;       ///< more with few taps
  double filter_gradient_tile = 0.585;      ///< extra of small tiles: shared-memory loads
  double filter_gradient_output = 3.5;      ///< clocks of an SM per output: adding up its parts
};

/// Architectures of the convolutions that the constants were fitted on.
inline constexpr std::array<std::string_view, 4> kFittedArchitectures{"maxwell", "pascal", "volta",
                                                                      "turing"};
bool is_fitted(const hardware::Architecture& arch);

/// Launch of a kernel within a stream of kernels, where none was measured.
inline constexpr Seconds kLaunch = Seconds::from_base(3e-6);

struct TimeMachine {
  double sms = 1;
  double lanes = 1;          ///< multiply-adds per clock and SM of the pipe the kernel runs on
  double vector_lanes = 1;   ///< threads that an SM advances per clock, whatever the pipe
  double issue = 1;          ///< clocks the main loop takes per clock of pure multiply-adds
  bool tensor = false;       ///< the pipe is the matrix units
  Hertz clock;               ///< sustained
  double registers = 65536;  ///< per SM, 32-bit
  double most_active = 8;    ///< CTAs that a kernel lets an SM hold
  Bytes shared;              ///< per SM, that CTAs can use
  Bytes l1_size;             ///< per SM, of the whole array where shared memory is carved from it
  bool l1_includes_shared = false;
  Bytes l2_size;
  traffic::Access access;
  BytesPerCycle shared_bandwidth;              ///< per SM
  std::optional<BytesPerCycle> l1_bandwidth;   ///< per SM; absent where the file states none
  std::optional<BytesPerSecond> l2_bandwidth;  ///< whole GPU
  BytesPerSecond dram_bandwidth;               ///< pins
  Seconds launch = kLaunch;                    ///< of a kernel within a stream of kernels
  bool one_winograd_shape = false;             ///< hardware::LibraryFacts
  bool winograd_filter_gradient = true;        ///< hardware::LibraryFacts
  TimeConstants constants;
  bool calibrated = false;  ///< vector FP32 of a generation the constants were fitted on
};

/// Clock that the power budget sustains under FP32 load, as a fraction of boost in (0, 1].
double sustained_clock_fraction(const hardware::GpuSpec& gpu, const TimeConstants& constants);

/// The machine for kernels of `compute` arithmetic whose pipe does `rate`. Total: sizes that the
/// file does not state are 0 (nothing is reused there).
TimeMachine make_time_machine(const hardware::Machine& machine, FlopsPerSecond rate, DType compute,
                              bool matrix);
/// The same with other constants.
TimeMachine make_time_machine(const hardware::Machine& machine, FlopsPerSecond rate, DType compute,
                              bool matrix, const TimeConstants& constants);

/// An error that names the first field of the GPU's file that traffic per level needs and that is
/// missing (L1 size, L2 size, registers, shared memory) or impossible (lines, sectors).
Status check_time_fields(const hardware::GpuSpec& gpu);

}  // namespace rooftile::cost
