// SPDX-License-Identifier: Apache-2.0
//
// The clock of the core that the calling thread runs on, from a chain of dependent additions: one
// cycle each on every processor in question. Many short bursts, the fastest counts: other processes
// only ever make a burst longer.
#pragma once

#include "core/units.h"

namespace rooftile::characterize::cpu {

Hertz observe_core_clock();

}  // namespace rooftile::characterize::cpu
