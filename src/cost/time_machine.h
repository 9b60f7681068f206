// SPDX-License-Identifier: Apache-2.0
//
// A GPU as the analytical time model sees it: a handful of numbers that `rooftile scale`
// multiplies. Rates are those of the data sheet (or of measured ceilings) at the clock that the
// board's power sustains, bandwidths those that are attained (attained.h). Measured ceilings are
// what was sustained: no power is taken from them again.
#pragma once

#include <optional>

#include "core/result.h"
#include "core/units.h"
#include "cost/attained.h"
#include "hardware/machine.h"
#include "ops/kernel_work.h"
#include "traffic/access.h"

namespace rooftile::cost {

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
  BytesPerSecond dram_bandwidth;               ///< attained
  Seconds launch;                              ///< of a kernel within a stream of kernels
  bool one_winograd_shape = false;             ///< hardware::LibraryFacts
  bool winograd_filter_gradient = true;        ///< hardware::LibraryFacts
  TimeConstants constants;
  bool calibrated = false;  ///< vector FP32 of a generation the constants were fitted on
};

/// Whether convolutions of this architecture were fitted.
bool is_fitted(const hardware::Architecture& arch, const TimeModel& model);

/// The machine for kernels of `compute` arithmetic whose pipe does `rate`. Total: sizes that the
/// file does not state are 0 (nothing is reused there).
TimeMachine make_time_machine(const hardware::Machine& machine, FlopsPerSecond rate, DType compute,
                              bool matrix, const Constants& constants);

/// An error that names the first field of the GPU's file that traffic per level needs and that is
/// missing (L1 size, L2 size, registers, shared memory) or impossible (lines, sectors).
Status check_time_fields(const hardware::GpuSpec& gpu);

}  // namespace rooftile::cost
