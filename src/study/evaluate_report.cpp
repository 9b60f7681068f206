// SPDX-License-Identifier: Apache-2.0
#include "study/evaluate.h"

namespace rooftile::study {

namespace {

TileErrors tile_errors_of(const calibration::TileChoice& choice) {
  return {.exact = choice.exact,
          .same_area = choice.same_area,
          .time_shift = choice.shift,
          .mean_error = choice.error};
}

}  // namespace

EvaluateReport report_of(const calibration::Evaluation& evaluation,
                         const calibration::Dataset& dataset) {
  constexpr double kMilliseconds = 1e3;
  EvaluateReport report;
  report.predictor = evaluation.predictor;
  report.leave_one_gpu_out = evaluation.left_out;
  report.skipped = evaluation.skipped;
  report.summary = evaluation.summary;
  report.provenance = evaluation.provenance;
  report.warnings = evaluation.warnings;
  calibration::for_each_case(evaluation, dataset,
                             [&](const calibration::CaseFacts& facts, const calibration::Case& c) {
                               report.times.push_back({.device = facts.device,
                                                       .name = facts.name,
                                                       .kind = facts.kind,
                                                       .campaign = facts.campaign,
                                                       .measured_ms = c.measured * kMilliseconds,
                                                       .predicted_ms = c.predicted * kMilliseconds,
                                                       .low_ms = c.low * kMilliseconds,
                                                       .high_ms = c.high * kMilliseconds,
                                                       .bound_ms = c.bound * kMilliseconds,
                                                       .error = c.error(),
                                                       .extrapolated = c.extrapolated});
                             });
  return report;
}

EvaluateReport report_of(const calibration::LabelEvaluation& evaluation) {
  EvaluateReport report;
  report.predictor = evaluation.predictor;
  report.leave_one_gpu_out = evaluation.left_out;
  report.summary = evaluation.summary;
  report.provenance = evaluation.provenance;
  report.warnings = evaluation.warnings;
  for (const auto& [option, rows] : evaluation.skipped) report.skipped += rows;
  for (const calibration::LabelCase& one : evaluation.cases) {
    report.times.push_back({.device = one.device,
                            .name = one.name,
                            .kind = one.model,
                            .campaign = one.mode + (one.option.empty() ? "" : " " + one.option),
                            .measured_ms = one.measured_ms,
                            .predicted_ms = one.predicted_ms,
                            .low_ms = one.low_ms,
                            .high_ms = one.high_ms,
                            .bound_ms = one.bound_ms,
                            .error = one.error()});
  }
  return report;
}

EvaluateReport report_of(const calibration::ValidationTable& table) {
  EvaluateReport report;
  report.predictor = table.predictor;
  report.bytes = table.bytes;
  report.summary = table.summary;
  report.skipped = table.skipped;
  report.leave_one_gpu_out = table.left_out;
  report.provenance = table.provenance;
  report.warnings = table.notes;
  return report;
}

EvaluateReport report_of(const TileEvaluation& tiles) {
  EvaluateReport report;
  report.predictor = "rooftile";
  report.leave_one_gpu_out = true;
  for (const calibration::TileAgreement& a : tiles.groups) {
    report.tiles.push_back({.group = a.group,
                            .rows = a.rows,
                            .ours = tile_errors_of(a.ours),
                            .nearest = tile_errors_of(a.nearest),
                            .launched_error = a.launched_error});
  }
  report.provenance = tiles.provenance;
  report.warnings = tiles.warnings;
  return report;
}

}  // namespace rooftile::study
