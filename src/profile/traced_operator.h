// SPDX-License-Identifier: Apache-2.0
//
// Operators of a framework as a trace records them (name, shapes, types and plain arguments of the
// inputs) -> the work of their main kernels: FLOPs, compulsory bytes and the shape that predictors
// take. The names are those of PyTorch's ATen and of libraries that register operators with it; a
// name that is not in the table, shapes that do not fit it, or sizes beyond reason give nothing.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ops/collective.h"
#include "ops/kernel_work.h"
#include "ops/operator.h"

namespace rooftile::profile {

/// One argument: a tensor has one shape, a list of tensors several, a number or list of numbers its
/// text ("[2, 2]", "False").
struct TracedInput {
  std::vector<std::vector<std::int64_t>> shapes;
  std::string type;  ///< "c10::BFloat16", "Scalar"; may be empty
  std::string text;  ///< of plain arguments, where the trace has them
};

/// What a call of a communication library states of itself.
struct TracedMessage {
  std::string name;          ///< "allreduce", "nccl:all_reduce"
  std::string type;          ///< of an element: "BFloat16"
  double in = 0, out = 0;    ///< elements
  std::int64_t gpus = 0;     ///< in the group; 0: not stated
  bool whole_world = false;  ///< `gpus` is the number of all GPUs of the job
};

struct TracedOperator {
  std::string name;  ///< "aten::addmm"
  std::vector<TracedInput> inputs;
  std::optional<TracedMessage> message = {};
  /// Shape of the result, where what follows tells; older traces do not have the strides and
  /// paddings of convolutions.
  std::vector<std::int64_t> output = {};
};

struct TracedWorks {
  /// The kernels that carry the operator's work, the longest first; a backward convolution has two.
  ops::KernelList kernels;
  std::optional<ops::Collective> collective = {};
  std::string_view assumed = {};  ///< what the trace does not say; empty: it says everything
};

/// True for operators of the table, whether or not their shapes were recorded.
bool is_known_operator(std::string_view name);
/// A convolution without its arguments: `output` would tell what they were.
bool needs_output(const TracedOperator& traced);

TracedWorks works_of(const TracedOperator& traced);

}  // namespace rooftile::profile
