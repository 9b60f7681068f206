// SPDX-License-Identifier: Apache-2.0
#include "ops/softmax.h"

namespace rooftile::ops {

namespace {

constexpr double kSoftmaxFlop = 5.0;  // max, subtract, exponentiate, sum, divide [Lee25]

KernelWork softmax_kernel(const Precision& precision, const Shape& shape, std::int64_t read) {
  return vector_kernel(precision, {.op = Softmax::kName,
                                   .kind = KernelClass::Softmax,
                                   .shape = rows_of(shape),
                                   .flop_per_element = kSoftmaxFlop,
                                   .read = read,
                                   .written = shape.elements()});
}

}  // namespace

void Softmax::forward(const LowerContext& context, KernelList& kernels) const {
  kernels.push_back(softmax_kernel(context.precision, shape, shape.elements()));
}

void Softmax::backward(const LowerContext& context, KernelList& kernels) const {
  const std::int64_t n = shape.elements();
  kernels.push_back(vector_kernel(context.precision, {.op = "mul",
                                                      .kind = KernelClass::Pointwise,
                                                      .shape = rows_of(shape),
                                                      .flop_per_element = 1.0,
                                                      .read = 2 * n,
                                                      .written = n}));
  kernels.push_back(softmax_kernel(context.precision, shape, n));
}

void CrossEntropy::forward(const LowerContext& context, KernelList& kernels) const {
  kernels.push_back(vector_kernel(context.precision, {.op = kName,
                                                      .kind = KernelClass::Reduction,
                                                      .shape = {.rows = rows, .columns = classes},
                                                      .flop_per_element = kSoftmaxFlop,
                                                      .read = rows * classes,
                                                      .written = rows}));
}

void CrossEntropy::backward(const LowerContext& context, KernelList& kernels) const {
  kernels.push_back(vector_kernel(context.precision, {.op = kName,
                                                      .kind = KernelClass::Softmax,
                                                      .shape = {.rows = rows, .columns = classes},
                                                      .flop_per_element = kSoftmaxFlop,
                                                      .read = rows * classes,
                                                      .written = rows * classes}));
}

}  // namespace rooftile::ops
