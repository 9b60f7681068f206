// SPDX-License-Identifier: Apache-2.0
//
// Measured kernels under the roofs of their machine.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "rooftile/provenance.h"
#include "rooftile/request.h"

namespace rooftile {

struct RooflineRequest {
  /// Files, folders (all their files are one run), or "label=path". Files without a label join the
  /// run they complete (same kernels, other counters) or start a run of their own.
  std::vector<std::string> exports = {};
  std::vector<std::string> subtract = {};   ///< a run whose launches are taken off the first run
  std::string gpu = {};                     ///< catalogue name or file; empty: as the export says
  std::optional<std::string> machine = {};  ///< measured ceilings: machine JSON, ERT, bench table
  bool predict = false;  ///< expected time and traffic of kernels whose shapes are known
  /// With `predict`: the step that was profiled, to match kernels with; no model: shapes from
  /// names.
  Request step = {};
  bool group_by_phase = false;
  bool compare = false;
  /// Roofs of a data sheet at its boost clock, also where the profile states the clock it ran at.
  bool boost = false;
  // A part of each run; as with Nsight Compute, launches are skipped and counted among those that
  // the other conditions leave.
  std::string kernel = {};  ///< extended regular expression, anywhere in the name
  std::int64_t launch_skip = 0;
  std::optional<std::int64_t> launch_count = {};
  std::string annotation = {};  ///< an NVTX range or user annotation around the launch
  std::optional<double> from_ms = {}, until_ms = {};  ///< since the first launch
  /// The authors' post-processing: total cycles over the mean clock, inner join of the exports of a
  /// run, and GFLOP/s of 2^30.
  bool nersc = false;
};

/// A ceiling of the chart.
struct RoofReport {
  std::string name;  ///< "dram", "l2", "fp16_tensor"
  bool compute = false;
  double per_second = 0;  ///< bytes of a memory level, FLOP of a compute roof
  std::string source;     ///< measured | export | datasheet ...
};

/// All launches of one kernel; what was not counted is absent.
struct KernelPoint {
  std::string name, short_name;
  std::string run;  ///< its label
  std::int64_t launches = 0;
  std::optional<double> time_ms, flops;
  std::optional<double> l1_bytes, l2_bytes, dram_bytes;
  std::string limiter;                     ///< compute | l1 | l2 | dram; empty: unknown
  std::optional<double> bound_ms;          ///< without the launch overhead
  std::optional<double> fraction_of_roof;  ///< bound / time
  bool launch_bound = false;
  std::optional<double> predicted_ms;  ///< with `predict`, where the shape is known
  std::string advice;                  ///< what holds it and what would help, in one sentence
};

struct RooflineReport {
  std::string title;
  std::vector<RoofReport> roofs;
  std::vector<KernelPoint> kernels;  ///< by time, longest first
  ProvenanceReport provenance{};
  std::vector<std::string> warnings;  ///< "name: message"
};

}  // namespace rooftile
