// SPDX-License-Identifier: Apache-2.0
//
// RawProfile -> Run: counters become seconds, FLOPs and bytes per kernel, with the formulas that
// were used, the roofs that the export itself allows (peak_sustained times clock), and named
// warnings about what is missing and how to collect it.
#pragma once

#include <string>
#include <vector>

#include "core/catalog.h"
#include "core/result.h"
#include "core/units.h"
#include "profile/counting.h"
#include "profile/kernel_record.h"
#include "profile/raw_profile.h"

namespace rooftile::profile {

struct EvaluateOptions {
  /// Compute capability or gfx name to use where the export does not state it; may be empty.
  std::string isa;
  /// Time = total cycles over the mean clock, as the authors' scripts do it, instead of the sum of
  /// cycles / clock over launches (they differ by up to 0.6 % per kernel).
  bool mean_clock = false;
  /// Leave out kernels that lack a counter which others have, as the authors' inner join over
  /// one-metric runs does; a warning says how many.
  bool inner_join = false;
  bool tensor_512 = false;     ///< FLOPs of every tensor instruction, as there
  bool launch_groups = false;  ///< fill KernelRecord::groups
  Seconds short_launch = Seconds::from_base(10e-6);  ///< shorter launches are counted apart
};

/// Fails (Unsupported) when the export has no counter at all that says what kernels did. The
/// catalogue holds the architectures.
Result<Run> evaluate(const RawProfile& profile, const EvaluateOptions& options,
                     const Catalog& catalog);

/// `ncu --csv ... --metrics a,b,c ./app` for the counters a hierarchical roofline needs on a chip
/// of this kind, or what its own profiler is called with.
std::string collect_command(const Counting& counting, const std::vector<std::string>& metrics);

/// For chips that only nvprof can profile.
std::string nvprof_command();

/// The counters that a full hierarchical roofline needs on that chip.
std::vector<std::string> needed_metrics(const Counting& counting);

}  // namespace rooftile::profile
