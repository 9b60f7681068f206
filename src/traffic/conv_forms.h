// SPDX-License-Identifier: Apache-2.0
//
// Closed forms of a forward convolution that the paper's model and the fast model share. `sector`
// is the element count of a sector (of 32 B: 8 for FP32, 16 for 16-bit types), `lanes` that of a
// request.
#pragma once

#include "traffic/implicit_gemm.h"

namespace rooftile::traffic {

/// Elements that warp loads of the input fetch per element requested (load inefficiency "v2").
double input_inefficiency(const ops::ConvShape& conv, std::int64_t sector, std::int64_t lanes);

/// The same for rows of `depth` contiguous elements at a pitch of `pitch` elements.
double row_inefficiency(std::int64_t pitch, std::int64_t depth, std::int64_t sector);

/// Distinct input elements that one tile needs per main-loop iteration when L1 keeps a channel's
/// pixels between iterations (U_chan).
double unique_input(const ops::ConvShape& conv, const CtaTile& tile, std::int64_t sector);

/// Fraction of (output position, tap) pairs along one axis that lie inside the image.
struct Axis {
  std::int64_t outputs, taps, stride, dilation, pad, size;
};
double inside_fraction(const Axis& axis);

}  // namespace rooftile::traffic
