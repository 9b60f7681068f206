// SPDX-License-Identifier: Apache-2.0
//
// Every result as a Document: its tree (what JSON prints), tables, charts, facts and warnings. One
// function per result, one file each (describe_<command>.cpp); none of them computes times. A new
// result is one such file and its line here: the formats follow.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "report/document.h"
#include "rooftile/provenance.h"

namespace rooftile {
struct CalibrateReport;
struct ErrorSummary;
struct GenerateReport;
struct KernelsReport;
struct Report;
struct ScaleReport;
struct SuggestReport;
struct TrafficReport;
namespace calibration {
struct Dataset;
struct Evaluation;
struct Inspection;
struct LabelEvaluation;
struct NodeEvaluation;
struct StepEvaluation;
struct TileAgreement;
struct ValidationTable;
}  // namespace calibration
namespace characterize {
struct Characterization;
struct Sample;
}  // namespace characterize
namespace graph {
struct ModelSummary;
}
namespace hardware {
struct Ceilings;
struct GpuSpec;
struct LintedFile;
struct Machine;
}  // namespace hardware
namespace roofline {
struct Chart;
}
}  // namespace rooftile

namespace rooftile::report {

struct ReplayReport;

/// How many rows people see of a long table; data formats have all.
struct DescribeOptions {
  std::size_t top = 15;
};

/// What a list has in addition to the data.
struct Notes {
  ProvenanceReport provenance;
  std::vector<std::string> warnings;
};

// predict, compare
Document describe(const Report& report, const DescribeOptions& options = {});
/// Adds the predicted kernels under the roofs of their GPU, for formats that draw.
void add_chart(const roofline::Chart& chart, Document& document);
Document describe(const ReplayReport& report);
Document describe(std::span<const Report> reports);

// generate
Document describe(const GenerateReport& report);

// kernel, traffic, scale
Document describe(const KernelsReport& report);
Document describe(const TrafficReport& report);
Document describe(const ScaleReport& report);

// roofline
Document describe(const roofline::Chart& chart, RooflineView view,
                  const DescribeOptions& options = {});

// characterize: what was measured, and the curves of an earlier run with its ceilings (or null)
Document describe(const characterize::Characterization& measured,
                  const hardware::Ceilings& ceilings);
Document describe(std::span<const characterize::Sample> samples,
                  const hardware::Ceilings* ceilings);
/// A machine file, of ERT for instance.
Document describe(const hardware::Ceilings& ceilings);

// calibrate
Document describe(const CalibrateReport& report);
Document describe(const SuggestReport& report);
/// What calibrating gains: `rows` rows, `draws` times; the groups have the baseline "uncalibrated".
Document describe_gain(std::int64_t rows, std::int64_t draws, std::span<const ErrorSummary> summary,
                       const Notes& notes);

// evaluate, fit
Document describe(const calibration::Evaluation& evaluation, const calibration::Dataset& dataset);
/// Without the measured rows.
Document describe(const calibration::Evaluation& evaluation);
Document describe(const calibration::LabelEvaluation& evaluation);
Document describe(const calibration::StepEvaluation& evaluation);
Document describe(const calibration::NodeEvaluation& evaluation);
Document describe(const calibration::ValidationTable& table);
Document describe(std::span<const calibration::TileAgreement> groups,
                  const ProvenanceReport& provenance, const std::vector<std::string>& warnings);
Document describe(const calibration::Inspection& inspection, const ProvenanceReport& provenance);

// gpus, models
Document describe(std::span<const hardware::GpuSpec> gpus, const Notes& notes);
Document describe(const hardware::Machine& machine, const Notes& notes);
Document describe(std::span<const hardware::LintedFile> files, const Notes& notes);
Document describe(std::span<const graph::ModelSummary> models);

}  // namespace rooftile::report
