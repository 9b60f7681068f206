// SPDX-License-Identifier: Apache-2.0
//
// The table of measured products next to a fitted form (cost/learned/neighbours.h): what the form
// misses on each shape, less the level of the campaign, rows of nearly the same shape merged.
#pragma once

#include "calibration/fit_forms.h"

namespace rooftile::calibration {

/// `data.samples` are the rows to remember; `model` is complete but for its neighbours.
cost::learned::Neighbours measured_neighbours(const FitData& data,
                                              const cost::learned::GemmModel& model);

}  // namespace rooftile::calibration
