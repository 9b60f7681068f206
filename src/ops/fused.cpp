// SPDX-License-Identifier: Apache-2.0
#include "ops/fused.h"

namespace rooftile::ops {

namespace {

std::string_view label(KernelClass kind) {
  if (kind == KernelClass::Softmax) return "softmax";
  return kind == KernelClass::Norm ? "ln" : "fused";
}

}  // namespace

Status FusedVector::check() const {
  ROOFTILE_CHECK(check_shape("fused operator", shape));
  ROOFTILE_CHECK(check_sizes("input of a fused operator", {read}));
  return check_sizes("output of a fused operator", {written});
}

void FusedVector::forward(const LowerContext& context, KernelList& kernels) const {
  kernels.push_back(vector_kernel(context.precision, {.op = label(kind),
                                                      .kind = kind,
                                                      .shape = rows_of(shape),
                                                      .flop_per_element = flop_per_element,
                                                      .read = read,
                                                      .written = written}));
}

void FusedVector::backward(const LowerContext& context, KernelList& kernels) const {
  kernels.push_back(vector_kernel(context.precision, {.op = label(kind),
                                                      .kind = kind,
                                                      .shape = rows_of(shape),
                                                      .flop_per_element = 2.0 * flop_per_element,
                                                      .read = read + shape.elements(),
                                                      .written = read}));
}

void FusedVector::accumulate(const LowerContext& context, KernelList& kernels) const {
  if (parameter_count > 0) kernels.push_back(gradient_add(context.precision, parameter_count));
}

}  // namespace rooftile::ops
