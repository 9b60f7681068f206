// SPDX-License-Identifier: Apache-2.0
//
// The progress of one part of a study: its fraction is from `begin` to `end` of the whole.
#pragma once

#include <string>
#include <utility>

#include "rooftile/progress.h"

namespace rooftile::study {

inline Progress part_of(const Progress& whole, double begin, double end, std::string name) {
  if (!whole) return {};
  return [=, name = std::move(name)](const ProgressState& state) {
    return whole({.fraction = begin + (end - begin) * state.fraction,
                  .note = state.note.empty() ? name : name + ": " + state.note,
                  .notice = state.notice});
  };
}

}  // namespace rooftile::study
