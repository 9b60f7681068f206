// SPDX-License-Identifier: Apache-2.0
//
// The measured tier: what a minute of measurements on one machine says about it, as a machine file
// that every command reads with --machine.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "rooftile/provenance.h"
#include "rooftile/request.h"

namespace rooftile {

/// A step that somebody timed; step.gpu and step.machine are the calibration's.
struct TimedStep {
  Request step = {};
  double measured_ms = 0;
};

struct CalibrateRequest {
  /// Timed kernels (CSV of docs/howto/refit.md, or what --script prints), profiler exports, machine
  /// files and roofs of other tools, collectives, measured steps; recognised from their content.
  std::vector<std::string> files = {};
  std::string gpu = {};  ///< catalogue name or file
  std::vector<TimedStep> steps = {};
  std::string predictor = {};  ///< empty: the default; the only one that is calibrated
  std::string date = {};       ///< ISO 8601, of the machine file
};

/// A number of the machine, before and after.
struct CalibratedNumber {
  std::string name;  ///< "dram", "compute", "launch", "steps host", "link start"
  std::string unit;  ///< "B/s", "FLOP/s", "s"; "1" for factors
  double before = 0, after = 0;
  double told = 0;  ///< of what was not known, how much the rows tell: 0 to 1
};

/// Errors are mean |predicted / measured - 1|.
struct CalibratedFamily {
  std::string family;  ///< "linear_16bit", "decode", "steps", "all_reduce"
  std::int64_t rows = 0;
  double level = 1;  ///< factor of the family's times beyond the machine's
  double error_before = 0, error_after = 0;
  std::optional<double> error_left_out;  ///< each row by the others
  std::optional<double> noise;           ///< of a single row, as a fraction
};

struct CalibratedRow {
  std::string name, family, place;
  double measured_ms = 0, before_ms = 0, after_ms = 0;
};

struct CalibrateReport {
  std::string gpu, gpu_name, predictor;
  std::vector<CalibratedNumber> numbers;
  std::vector<CalibratedFamily> families;
  std::vector<CalibratedRow> rows;
  std::string machine_file;  ///< the text of it
  ProvenanceReport provenance{};
  std::vector<std::string> warnings;
};

struct SuggestRequest {
  std::string gpu = {};
  std::optional<std::string> machine = {};
  std::int64_t count = 30;
};

/// A kernel that is worth measuring.
struct SuggestedKernel {
  std::string kernel, shape, dtype;  ///< "gemm", "4096x4096x4096", "bf16"
  std::string family, limiter;
  double predicted_ms = 0;
  double unknown = 0;  ///< how far off its prediction may be after those before it, as a logarithm
};

struct SuggestReport {
  std::string gpu, gpu_name;
  std::vector<SuggestedKernel> kernels;
  std::string script;  ///< a PyTorch program that times them
  ProvenanceReport provenance{};
  std::vector<std::string> warnings;
};

}  // namespace rooftile
