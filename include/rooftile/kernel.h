// SPDX-License-Identifier: Apache-2.0
//
// One operator on one GPU: each of its kernels with every term of its bound.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "rooftile/provenance.h"
#include "rooftile/report.h"
#include "rooftile/shapes.h"

namespace rooftile {

/// A vector operator.
struct VectorOperator {
  std::string kind = "elementwise";  ///< elementwise | softmax | layernorm | rmsnorm
  RowShape shape = {};
  std::string function = "add";  ///< of an element-wise one: add, mul, gelu, relu, tanh, ...
};

struct KernelRequest {
  /// A product, a convolution (its pass is `pass`), fused attention or a vector operator.
  std::variant<GemmShape, ConvShape, AttentionShape, VectorOperator> op = {};
  std::string gpu = {};
  std::optional<std::string> machine = {};
  std::string dtype = "fp32";
  std::string pass = "forward";  ///< forward | backward; convolutions: dgrad | wgrad too
  std::string predictor = {};
  /// cold: its operands come from DRAM; warm: it is repeated and finds what fits in the L2. Warm is
  /// modelled for products and attention.
  std::string residency = "cold";
};

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
  std::string residency;  ///< that was assumed
  OperatorReport row;     ///< in a stream of kernels, as every command counts it
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

}  // namespace rooftile
