// SPDX-License-Identifier: Apache-2.0
//
// What must hold between the fields of a predictor's file; the limits of single numbers are checked
// where they are read (weights_json.cpp).
#pragma once

#include <string>

#include "core/result.h"
#include "cost/learned/weights.h"

namespace rooftile::cost::learned {

/// An error that names `file` and the JSON pointer.
Status check_weights(const Weights& weights, const std::string& file);

}  // namespace rooftile::cost::learned
