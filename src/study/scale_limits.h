// SPDX-License-Identifier: Apache-2.0
//
// Variants that are not machines: fewer than one SM or one lane, or SMs too small for a CTA of the
// smallest tile of a matrix product.
#pragma once

#include "aggregate/scaling.h"
#include "core/result.h"

namespace rooftile::study {

/// An error that names the factor and the least one with which all kernels run.
Status check_variant(const aggregate::ScalingStudy& study, const hardware::Factors& factors);

}  // namespace rooftile::study
