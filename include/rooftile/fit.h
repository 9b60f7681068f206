// SPDX-License-Identifier: Apache-2.0
//
// A predictor from measured kernels, and a look at the measurements before.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "rooftile/evaluate.h"
#include "rooftile/provenance.h"

namespace rooftile {

struct FitRequest {
  std::vector<std::string> files = {};  ///< measured kernels; layouts as in evaluate
  std::string form = "rooftile";        ///< rooftile | neusight
  std::string name = "fitted";          ///< what the card calls the folder of the result
  std::string campaign = {};            ///< only rows of this campaign; empty: all
  std::uint64_t seed = 1;               ///< of the choice of rows
  unsigned threads = 2;
  /// File that keeps finished parts: a fit that was stopped continues from it. The caller removes
  /// it.
  std::optional<std::string> checkpoint = {};
};

/// Write `weights` and `card` as weights.json and card.json into a folder: its path is then the
/// name of a predictor.
struct FitReport {
  std::string weights, card;  ///< JSON texts
  /// Errors on GPUs that were left out; without cases where there is a single GPU.
  EvaluateReport left_out;
  std::vector<std::string> warnings;
};

/// Rows of one class, GPU and campaign.
struct InspectedGroup {
  std::string name, gpu, campaign;
  std::int64_t rows = 0;
  double shortest_ms = 0, longest_ms = 0;
  std::int64_t below_bound = 0;  ///< rows faster than the bound
  std::int64_t repeated = 0;     ///< rows whose shape occurred before
  double repeated_spread = 0;    ///< mean |difference| of those, relative
};

struct InspectReport {
  std::vector<InspectedGroup> groups;
  std::vector<std::string> notes;
  std::vector<std::string> suspicious;  ///< "file:line: reason", the first few
  std::int64_t suspicious_rows = 0;     ///< all of them
  ProvenanceReport provenance{};
};

}  // namespace rooftile
