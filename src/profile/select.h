// SPDX-License-Identifier: Apache-2.0
//
// A part of a run: kernels by name, launches by place, annotation or time. As with Nsight Compute,
// launches are skipped and counted among those that the other conditions leave, in the order of the
// export.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/result.h"
#include "profile/raw_profile.h"

namespace rooftile::profile {

struct Selection {
  std::string kernel = {};  ///< extended regular expression, anywhere in the name; empty: all
  std::int64_t skip = 0;
  std::optional<std::int64_t> count = {};
  std::string annotation = {};       ///< the name of a range around the launch; empty: any
  std::optional<double> from = {};   ///< seconds since the first launch
  std::optional<double> until = {};  ///< launches begin before it

  [[nodiscard]] bool by_launch() const {
    return skip > 0 || count || !annotation.empty() || from || until;
  }
};

/// What is left; an error when that is nothing, or when launches are asked for and the export does
/// not list them.
Result<RawProfile> select(RawProfile profile, const Selection& selection);

/// The launches of one phase of the step; kernels that do not list their launches are of none.
RawProfile of_phase(const RawProfile& profile, TracePhase phase);

}  // namespace rooftile::profile
