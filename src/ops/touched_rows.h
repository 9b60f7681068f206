// SPDX-License-Identifier: Apache-2.0
//
// Rows of the input that a forward pass or a filter gradient has to read: filters shorter than
// their stride skip some, and so may the end of the image.
#pragma once

#include "ops/kernel_work.h"

namespace rooftile::ops {

std::int64_t touched_rows(const ConvShape& conv);

}  // namespace rooftile::ops
