// SPDX-License-Identifier: Apache-2.0
//
// Predicted kernels as points under the roofs of their machine: the same chart that measured
// kernels have, so that both are read alike.
#pragma once

#include "core/catalog.h"
#include "core/result.h"
#include "roofline/chart.h"
#include "rooftile/report.h"

namespace rooftile::study {

/// One point per operator of the report; times are the predicted ones.
Result<roofline::Chart> predicted_chart(const Report& report, const Catalog& catalog);

}  // namespace rooftile::study
