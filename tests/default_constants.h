// SPDX-License-Identifier: Apache-2.0
//
// The fitted numbers of the default predictor, for tests of what they are used in.
#pragma once

#include "core/catalog.h"
#include "cost/learned/weights.h"

namespace rooftile::testing {

inline const cost::Constants& default_constants() {
  static const cost::learned::Weights kWeights =
      cost::learned::read_default(Catalog::embedded()).value();
  return kWeights.constants;
}

}  // namespace rooftile::testing
