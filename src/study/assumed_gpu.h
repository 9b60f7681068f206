// SPDX-License-Identifier: Apache-2.0
//
// The GPU of exports that do not name theirs (tables of Nsight Compute have no column for it).
// Profilers lock the clock to the base clock, and the compute capability is stated, or older library
// kernels carry it in their names ("volta_..."): where all boards of the catalogue with that
// capability and that base clock have the same units and memory, their roofs are taken, with a
// warning. Nothing is assumed where they differ, or where the export brings roofs of its own.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "core/catalog.h"
#include "core/result.h"
#include "core/units.h"
#include "hardware/machine.h"
#include "roofline/chart.h"

namespace rooftile::study {

/// Of all kernels that were timed, weighted by their time.
std::optional<Hertz> mean_clock(const std::vector<roofline::NamedRun>& runs);

struct AssumedGpu {
  hardware::Machine machine;
  profile::Warning warning;
};

/// `isa`: the compute capability as the exports state it; may be empty.
Result<std::optional<AssumedGpu>> assumed_gpu(const std::vector<roofline::NamedRun>& runs,
                                              std::string_view isa, const Catalog& catalog);

/// Adds to a warning that there are no roofs which GPUs of the catalogue the export could be of.
Status suggest_gpus(const Catalog& catalog, std::string_view isa, roofline::Chart& chart);

}  // namespace rooftile::study
