// SPDX-License-Identifier: Apache-2.0
//
// roofline.json of the Empirical Roofline Toolkit, written: the keys and the nesting of ERT 1.1.0,
// with one entry per precision, GFLOP/s and GB/s without a unit, as ERT writes them. It is read
// back by the one reader of measured roofs (hardware/roof_file.h).
#pragma once

#include <string>

#include "hardware/ceilings.h"
#include "hardware/roof_file.h"

namespace rooftile::hardware {

/// Rates of tensor pipes have no name in ERT; they are written as "<FORMAT> TC GFLOPs".
std::string write_ert_json(const Ceilings& ceilings);

}  // namespace rooftile::hardware
