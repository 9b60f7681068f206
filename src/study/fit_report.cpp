// SPDX-License-Identifier: Apache-2.0
#include "study/evaluate.h"
#include "study/fit.h"

namespace rooftile::study {

FitReport report_of(const FitResult& result) {
  return {.weights = result.weights,
          .card = result.card,
          .left_out = report_of(result.left_out, result.dataset),
          .warnings = result.warnings};
}

InspectReport report_of(const InspectResult& result) {
  constexpr double kMilliseconds = 1e3;
  InspectReport report;
  for (const calibration::GroupFacts& g : result.inspection.groups) {
    report.groups.push_back({.name = g.name,
                             .gpu = g.gpu,
                             .campaign = g.campaign,
                             .rows = g.rows,
                             .shortest_ms = g.shortest * kMilliseconds,
                             .longest_ms = g.longest * kMilliseconds,
                             .below_bound = g.below_bound,
                             .repeated = g.duplicates,
                             .repeated_spread = g.duplicate_spread});
  }
  report.notes = result.inspection.notes;
  for (const calibration::Suspicious& s : result.inspection.suspicious)
    report.suspicious.push_back(s.where + ": " + s.reason);
  report.suspicious_rows = result.inspection.suspicious_rows;
  report.provenance = result.provenance;
  return report;
}

}  // namespace rooftile::study
