// SPDX-License-Identifier: Apache-2.0
//
// The progress of one part of a study: its fraction is from `begin` to `end` of the whole, and its
// notes begin with its name where it has one.
#pragma once

#include <string>
#include <utility>

#include "rooftile/progress.h"

namespace rooftile::study {

inline Progress part_of(const Progress& whole, double begin, double end, std::string name) {
  if (!whole) return {};
  return [=, name = std::move(name)](const ProgressState& state) {
    return whole(
        {.fraction = begin + (end - begin) * state.fraction,
         .note = name.empty() || state.note.empty() ? name + state.note : name + ": " + state.note,
         .notice = state.notice});
  };
}

}  // namespace rooftile::study
