// SPDX-License-Identifier: Apache-2.0
//
// roofline.json of the Empirical Roofline Toolkit, both ways. Read: the empirical peaks and
// bandwidths become ceilings, the metadata their environment, the "spec" part (what the user of ERT
// typed in) notes. Written: the keys and the nesting of ERT 1.1.0, with one entry per precision.
// Rates in the file are GFLOP/s and GB/s without a unit, as ERT writes them.
#pragma once

#include <string>
#include <string_view>

#include "core/result.h"
#include "hardware/ceilings.h"

namespace rooftile::characterize {

/// `name` is what errors call the text.
Result<hardware::Ceilings> read_ert_json(std::string_view text, const std::string& name);

/// Rates of tensor pipes have no name in ERT; they are written as "<FORMAT> TC GFLOPs".
std::string write_ert_json(const hardware::Ceilings& ceilings);

}  // namespace rooftile::characterize
