// SPDX-License-Identifier: Apache-2.0
#include "ops/head_linear.h"

namespace rooftile::ops {

Status HeadLinear::check() const {
  ROOFTILE_CHECK(check_sizes("weights of the heads", {heads, in, out}));
  ROOFTILE_CHECK(check_sizes("input of the heads", {rows, heads, in}));
  return check_sizes("output of the heads", {rows, heads, out});
}

namespace {

KernelWork head_kernel(const Precision& precision, const GemmShape& shape) {
  KernelWork work = gemm_kernel(precision, HeadLinear::kName, shape, false);
  work.kind = KernelClass::BatchedGemm;
  return work;
}

}  // namespace

void HeadLinear::forward(const LowerContext& context, KernelList& kernels) const {
  kernels.push_back(head_kernel(context.precision, {.batch = heads, .m = rows, .n = out, .k = in}));
  reads_weights(kernels.back(), parameters(), context.precision);
}

void HeadLinear::backward(const LowerContext& context, KernelList& kernels) const {
  kernels.push_back(head_kernel(context.precision, {.batch = heads, .m = rows, .n = in, .k = out}));
  reads_weights(kernels.back(), parameters(), context.precision);
  kernels.push_back(head_kernel(context.precision, {.batch = heads, .m = out, .n = in, .k = rows}));
}

void HeadLinear::accumulate(const LowerContext& context, KernelList& kernels) const {
  kernels.push_back(gradient_add(context.precision, parameters()));
}

}  // namespace rooftile::ops
