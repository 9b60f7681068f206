// SPDX-License-Identifier: Apache-2.0
//
// Two runs side by side. Kernels are paired by their name; what is left by their name without
// number formats and hashes of libraries (fp16 and fp32, one release and another); what is
// left then by the class of their operation, as one row per class. Where one run would have much of
// a class left and the other one nothing, the class is compared as a whole instead of by names
// without formats. A kernel whose class only one run has stays alone: it appeared or vanished.
#pragma once

#include "profile/kernel_record.h"
#include "roofline/chart.h"

namespace rooftile::roofline {

Comparison compare(const profile::Run& first, const profile::Run& second);

}  // namespace rooftile::roofline
