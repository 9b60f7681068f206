// SPDX-License-Identifier: Apache-2.0
//
// Operators of a framework as a trace records them (name, shapes, types and plain arguments of the
// inputs) -> the work of their main kernels: FLOPs, compulsory bytes and the shape that predictors
// take. The names are those of PyTorch's ATen; a name that is not in the table, shapes that do not
// fit it, or sizes beyond reason give nothing.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

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

struct TracedOperator {
  std::string name;  ///< "aten::addmm"
  std::vector<TracedInput> inputs;
};

/// True for operators of the table, whether or not their shapes were recorded.
bool is_known_operator(std::string_view name);

/// The kernels that carry the operator's work, the longest first; a backward convolution has two.
ops::KernelList works_of(const TracedOperator& traced);

}  // namespace rooftile::profile
