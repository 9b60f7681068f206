// SPDX-License-Identifier: Apache-2.0
#include "ops/linear.h"

namespace rooftile::ops {

Status Linear::check() const {
  ROOFTILE_CHECK(check_sizes("linear weight", {in, out}));
  ROOFTILE_CHECK(check_sizes("linear input", {rows, in}));
  return check_sizes("linear output", {rows, out});
}

void Linear::forward(const LowerContext& context, KernelList& kernels) const {
  kernels.push_back(
      gemm_kernel(context.precision, kName, {.batch = 1, .m = rows, .n = out, .k = in}, bias));
  reads_weights(kernels.back(), in * out, context.precision);
}

void Linear::backward(const LowerContext& context, KernelList& kernels) const {
  if (context.input_gradient) {
    kernels.push_back(
        gemm_kernel(context.precision, kName, {.batch = 1, .m = rows, .n = in, .k = out}, false));
    reads_weights(kernels.back(), in * out, context.precision);
  }
  kernels.push_back(
      gemm_kernel(context.precision, kName, {.batch = 1, .m = out, .n = in, .k = rows}, false));
}

void Linear::accumulate(const LowerContext& context, KernelList& kernels) const {
  kernels.push_back(gradient_add(context.precision, in * out));
  if (bias) kernels.push_back(gradient_add(context.precision, out));
}

Status BatchedMatmul::check() const {
  ROOFTILE_CHECK(check_sizes("left operand of a batched matmul", {batch, m, k}));
  ROOFTILE_CHECK(check_sizes("right operand of a batched matmul", {batch, k, n}));
  if (share <= 0 || batch % share != 0) {
    return bad_input({}, "a batched matmul shares its right operand unevenly",
                     "the number of products must be a multiple of `share`");
  }
  return check_sizes("output of a batched matmul", {batch, m, n});
}

namespace {

KernelWork bmm_kernel(const LowerContext& context, const GemmShape& shape, Bytes saved_reads) {
  KernelWork work = gemm_kernel(context.precision, BatchedMatmul::kName, shape, false);
  work.kind = KernelClass::BatchedGemm;  // also for one product: it is launched as a batch
  work.read -= saved_reads;
  return work;
}

}  // namespace

void BatchedMatmul::forward(const LowerContext& context, KernelList& kernels) const {
  const std::int64_t repeated = (batch - batch / share) * k * n;
  kernels.push_back(bmm_kernel(context, {.batch = batch, .m = m, .n = n, .k = k},
                               bytes_of(repeated, context.precision.matrix_storage)));
  const Precision& p = context.precision;
  kernels.back().cold = bytes_of(cached, p.cache.value_or(p.matrix_storage));
  kernels.back().read += kernels.back().cold - bytes_of(cached, p.matrix_storage);
}

void BatchedMatmul::backward(const LowerContext& context, KernelList& kernels) const {
  const std::int64_t repeated = (batch - batch / share) * k * n;
  kernels.push_back(bmm_kernel(context, {.batch = batch, .m = m, .n = k, .k = n},
                               bytes_of(repeated, context.precision.matrix_storage)));
  kernels.push_back(bmm_kernel(context, {.batch = batch, .m = k, .n = n, .k = m}, Bytes{}));
}

}  // namespace rooftile::ops
