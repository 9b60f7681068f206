// SPDX-License-Identifier: Apache-2.0
//
// The convolution algorithms whose time is one formula, without a search: Winograd, FFT, direct,
// depthwise (conv_time.h describes them).
#pragma once

#include <vector>

#include "cost/conv_time.h"

namespace rooftile::cost {

/// Those that apply to the layer, in no order; maybe none.
std::vector<ConvCandidate> simple_candidates(const ops::ConvShape& conv, DType dtype,
                                             const TimeMachine& machine);

}  // namespace rooftile::cost
