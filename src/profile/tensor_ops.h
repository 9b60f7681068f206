// SPDX-License-Identifier: Apache-2.0
//
// Operations of the matrix units. In order of preference:
//   1. NVIDIA sm__ops_path_tensor_*: the hardware's own count of multiplies and adds, per source
//      type. Totals come with parts (per instruction, per sparsity); the widest total of each
//      source type is taken, never a total and its parts.
//   2. AMD SQ_INSTS_VALU_MFMA_MOPS_*: units of 512 operations.
//   3. NVIDIA instruction counts. One warp instruction is worth 512 to 8192 operations depending on
//      its shape, so a constant is only used where the shape is known: from the kernel's name
//      ("s884", "h884", "h1688", "tf32_s1688", "s16816", "i16832"), or where all instructions of an
//      architecture do the same: on Volta a step of HMMA.884.F32 is 512 (the authors' constant for
//      every kernel). Otherwise the count is left out and said to be missing.
// [MMA shapes of the PTX manual; NVIDIA developer forum 285256]
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "hardware/rate_key.h"
#include "profile/counting.h"
#include "profile/kernel_time.h"
#include "profile/raw_profile.h"

namespace rooftile::profile {

bool is_tensor_counter(std::string_view metric);

struct TensorOps {
  std::map<hardware::RateKey, double> ops;  ///< all launches
  std::string text;                         ///< the formula
  bool assumed_volta = false;  ///< no compute capability in the export; 512 was assumed
  bool partial = false;        ///< some launches had n/a
};

/// What the kernel did on the matrix units; nothing when no usable counter is there. Counters per
/// second or cycle (raw pages of --set roofline) need the time, which may be null.
struct TensorQuestion {
  const Counting& counting;
  const KernelTime* time = nullptr;  ///< may be null
  bool always_512 = false;           ///< the authors' constant, whatever the kernel is called
};
std::optional<TensorOps> tensor_ops(const KernelSeries& kernel, const TensorQuestion& question);

/// True when instruction counts are there but their worth is unknown.
bool tensor_shape_unknown(const KernelSeries& kernel, const TensorQuestion& question);

/// How busy the profiler saw the matrix units, in % of their peak: they worked, not how much.
bool is_tensor_share(std::string_view metric);
/// True when such a share is above zero in some launch.
bool tensor_units_were_busy(const KernelSeries& kernel);

/// The rate that "sm__ops_path_tensor_*.sum.peak_sustained" is the peak of; dense operations only.
std::optional<hardware::RateKey> tensor_peak(std::string_view metric);

/// True when the kernel's name says that it uses the matrix units.
bool name_says_tensor(std::string_view kernel);

}  // namespace rooftile::profile
