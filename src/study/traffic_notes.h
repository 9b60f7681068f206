// SPDX-License-Identifier: Apache-2.0
//
// Where DeLTA, or an option, does not hold: notes with the numbers of `rooftile traffic`, each
// with a name that docs/theory/traffic.md explains. They say which assumption a kernel or a GPU
// breaks; how wrong the numbers are then is not known, as no public counters exist.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cost/constants.h"
#include "execution/launches.h"
#include "hardware/machine.h"
#include "report/traffic_json.h"

namespace rooftile::study {

/// One note per assumption that some kernel, or the GPU, breaks; `kernels` are those that are timed
/// by their streams.
std::vector<std::string> delta_notes(std::span<const execution::Launch> kernels,
                                     const hardware::Machine& machine,
                                     const cost::TimeModel& model);

/// Options that do not hold for every row of a report.
struct FlagsUsed {
  bool tile = false, algorithm = false, order = false, paper = false, exact = false,
       simulate = false;
};
/// One note per option that was used and that some row does not follow; `layers` are the rows of
/// `kernels`.
std::vector<std::string> flag_notes(std::span<const execution::Launch> kernels,
                                    std::span<const report::LayerTraffic> layers,
                                    const FlagsUsed& used);

/// The paper's forms leave their range on some shapes: negative bytes, or a level that moves more
/// than the one above it.
std::optional<std::string> paper_note(const report::LayerTraffic& layer);

}  // namespace rooftile::study
