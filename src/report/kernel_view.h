// SPDX-License-Identifier: Apache-2.0
//
// `rooftile kernel`: one kernel explained, with the terms of its bound side by side.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "report/views.h"
#include "rooftile/report.h"

namespace rooftile::report {

struct BoundTermReport {
  std::string limiter;
  double ms = 0;
  std::string arithmetic;  ///< "137.4 GFLOP at 66.9 TFLOP/s"
};

struct KernelReport {
  std::string gpu_name;
  std::string predictor;
  OperatorReport row;                  ///< launched alone: the host's part included
  double in_stream_ms = 0;             ///< of the GPU alone, as one of many kernels in a stream
  std::vector<BoundTermReport> terms;  ///< known levels only
  std::vector<std::string> unknown;    ///< levels whose bandwidth the GPU's file does not state
  std::vector<std::string> warnings;   ///< about the files behind the numbers
};

/// All kernels of an operator run on one machine: what is said of it is said once.
std::vector<std::string> warnings_of(std::span<const KernelReport> kernels);

std::string kernels_to_text(std::span<const KernelReport> kernels, const TextOptions& options);
std::string kernels_to_json(std::span<const KernelReport> kernels);
std::string kernels_to_csv(std::span<const KernelReport> kernels);

}  // namespace rooftile::report
