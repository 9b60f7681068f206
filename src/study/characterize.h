// SPDX-License-Identifier: Apache-2.0
//
// What a run of the micro-kernels gives, for this process or for all ranks of a job.
#pragma once

#include <cstdint>

#include "characterize/characterization.h"
#include "hardware/ceilings.h"
#include "rooftile/characterize.h"

namespace rooftile::study {

struct CharacterizeResult {
  characterize::Characterization measured;
  hardware::Ceilings ceilings;
  std::int64_t resumed = 0;  ///< measurements that a checkpoint had
  /// False on the other ranks of a job: the first one has the result of all.
  bool first = true;
};

CharacterizeReport report_of(const CharacterizeResult& result);

}  // namespace rooftile::study
