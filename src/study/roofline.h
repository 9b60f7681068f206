// SPDX-License-Identifier: Apache-2.0
//
// `rooftile roofline`: exports -> runs -> kernels under roofs.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/catalog.h"
#include "core/result.h"
#include "roofline/chart.h"
#include "rooftile/request.h"

namespace rooftile::study {

struct RooflineRequest {
  /// Files, folders (all their files are one run), or "label=path". Files without a label join the
  /// run they complete (same kernels, other counters) or start a run of their own.
  std::vector<std::string> exports;
  std::vector<std::string> subtract;   ///< a run whose launches are taken off the first run
  std::string gpu;                     ///< catalogue name or file; empty: as the export says
  std::optional<std::string> machine;  ///< measured ceilings: machine JSON, ERT, bench table
  bool predict = false;  ///< expected time and traffic of kernels whose shapes are known
  /// With `predict`: the step that was profiled, to match kernels with; no model: shapes from
  /// names.
  Request step;
  bool group_by_phase = false;
  bool compare = false;
  /// The authors' post-processing: total cycles over the mean clock, inner join of the exports of a
  /// run, and GFLOP/s of 2^30.
  bool nersc = false;
};

Result<roofline::Chart> roofline(const RooflineRequest& request, const Catalog& catalog);

}  // namespace rooftile::study
