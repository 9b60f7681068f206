// SPDX-License-Identifier: Apache-2.0
//
// `rooftile kernel`: one kernel explained, with the terms of its bound side by side.
#pragma once

#include <map>
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

/// The kernel launched alone, as in a benchmark of one operator.
struct IsolatedReport {
  double latency_ms = 0, low_ms = 0, high_ms = 0;
  double host_ms = 0;  ///< of the latency
};

struct KernelReport {
  std::string gpu_name;
  std::string predictor;
  OperatorReport row;  ///< in a stream of kernels, as every command counts it
  IsolatedReport isolated;
  std::vector<BoundTermReport> terms;  ///< known levels only
  std::vector<std::string> unknown;    ///< levels whose bandwidth the GPU's file does not state
};

/// The kernels of one operator, all on one machine.
struct KernelsReport {
  std::vector<KernelReport> kernels;
  std::map<std::string, double> rates;  ///< as in Report
  ProvenanceReport provenance{};
  std::vector<std::string> warnings;  ///< about the files behind the numbers
};

std::string kernels_to_text(const KernelsReport& report, const TextOptions& options);
std::string kernels_to_json(const KernelsReport& report);
std::string kernels_to_csv(const KernelsReport& report);

}  // namespace rooftile::report
