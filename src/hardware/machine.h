// SPDX-License-Identifier: Apache-2.0
//
// The machine that every model computes with: a GPU's data sheet, and measured ceilings where
// someone has taken them. The accessors choose between the two and say which it was:
//
//   value        first choice          then                      else
//   rate         measured ceiling      data sheet                nothing
//   L1 bandwidth measured ceiling      SMs x B/clk x boost       published B/clk, nothing
//   L2 bandwidth measured ceiling      published measurement     data sheet, nothing
//   DRAM         measured ceiling      data sheet                (always present)
//
// "Published" is what other people measured on the same part, or on a sibling that the file names
// (GpuSpec::measured). Nothing else is taken from another part or guessed from a ratio: an unknown
// level has no bandwidth.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/catalog.h"
#include "core/result.h"
#include "core/units.h"
#include "hardware/ceilings.h"
#include "hardware/gpu_spec.h"
#include "hardware/sourced.h"

namespace rooftile::hardware {

struct Machine {
  GpuSpec gpu;
  std::optional<Ceilings> ceilings;

  /// Peak of the dtype on the pipe; nothing when the GPU has no such units or no known rate.
  [[nodiscard]] std::optional<FlopsPerSecond> rate(DType dtype, Pipe pipe) const;
  [[nodiscard]] std::optional<Sourced<FlopsPerSecond>> rate_ceiling(RateKey key) const;

  /// The units that work of this dtype runs on: tensor units when the work is a matrix product and
  /// the GPU has them for the dtype, else the vector lanes. Vector lanes compute FP16 and BF16 in
  /// FP32 where that is faster than their own rate (FP16 of compute capability 6.1 runs at 1/64 of
  /// it). FP32 never runs as TF32 unasked.
  [[nodiscard]] std::optional<RateKey> best_units(DType compute, bool matrix) const;
  /// The rate of those units.
  [[nodiscard]] std::optional<FlopsPerSecond> best_rate(DType compute, bool matrix) const;

  /// Read bandwidth of the whole GPU at the level.
  [[nodiscard]] std::optional<Sourced<BytesPerSecond>> bandwidth(MemoryLevel level) const;

  /// Arithmetic intensity above which the rate, not the level, is the limit.
  [[nodiscard]] std::optional<FlopsPerByte> ridge(MemoryLevel level, RateKey key) const;
};

/// The files it was loaded from.
std::vector<Input> inputs_of(const Machine& machine);

/// What to say of a board that is several devices to software; nothing of all others.
std::optional<std::string> device_note(const GpuSpec& gpu);

/// Ceilings that name no GPU are those of their device, where the catalogue has it.
void name_gpu(const Catalog& catalog, Ceilings& ceilings);

/// The GPU by name or path, with the ceilings of `machine_file` where one is given. A file that
/// was measured on another GPU is an error. An empty name takes the GPU that the file names.
Result<Machine> load_machine(const Catalog& catalog, std::string_view gpu,
                             const std::optional<std::string>& machine_file);

}  // namespace rooftile::hardware
