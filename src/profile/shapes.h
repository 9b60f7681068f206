// SPDX-License-Identifier: Apache-2.0
//
// FLOPs and compulsory bytes of a kernel from the operators that a trace shows its launches in, for
// kernels that nobody counted.
#pragma once

#include <string_view>
#include <vector>

#include "profile/kernel_record.h"
#include "profile/raw_profile.h"

namespace rooftile::profile {

/// The units that traced work runs on, as far as format and the kernel's name tell: 16 and 8 bits on
/// the matrix units, FP32 only where the name says that it is rounded to TF32.
hardware::RateKey traced_units(const ops::KernelWork& work, std::string_view kernel);

/// Fills what the record lacks; false where the trace says nothing about the kernel. Launches whose
/// operator is not known make the numbers lower bounds.
bool count_shapes(const KernelSeries& kernel, const std::vector<TracedWork>& works,
                  KernelRecord& record);

}  // namespace rooftile::profile
