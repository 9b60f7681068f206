// SPDX-License-Identifier: Apache-2.0
//
// Fits the constants of the time model (cost::TimeConstants) to rows of a campaign: coordinate
// descent with multiplicative steps from 50 % down to 3 %, from round starting values that are
// independent of the shipped ones. It finds a local optimum; its use is to score a GPU with
// constants that have never seen it.
#pragma once

#include <functional>

#include "cost/time_machine.h"

namespace rooftile::study {

/// To be made small; called about 500 times.
using Objective = std::function<double(const cost::TimeConstants&)>;

cost::TimeConstants refit_constants(const Objective& objective);

}  // namespace rooftile::study
