// SPDX-License-Identifier: Apache-2.0
#include "ops/norm.h"

namespace rooftile::ops {

namespace {

constexpr double kLayerNormFlop = 6.0;   // [Lee25]
constexpr double kRmsNormFlop = 4.0;     // square, sum, scale by 1/rms, weight
constexpr double kStatisticsFlop = 3.0;  // sum, square, sum of squares

struct NormWork {
  std::string_view op;
  KernelClass kind = KernelClass::Norm;
  RowShape shape;
  double flop = 1.0;
  std::int64_t tensors_read = 1, parameters_read = 0, tensors_written = 1;
};

KernelWork norm_kernel(const Precision& precision, const NormWork& work) {
  const std::int64_t n = work.shape.rows * work.shape.columns;
  return vector_kernel(precision, {.op = work.op,
                                   .kind = work.kind,
                                   .shape = work.shape,
                                   .flop_per_element = work.flop,
                                   .read = n * work.tensors_read + work.parameters_read,
                                   .written = n * work.tensors_written});
}

Bytes row_statistics(const Shape& shape, std::int64_t per_row) {
  return bytes_of(shape.rows() * per_row, DType::Fp32);
}

}  // namespace

Saved LayerNorm::saved(const LowerContext&) const {
  return {.inputs = 1, .output = false, .extra = row_statistics(shape, 2)};  // mean and 1/sigma
}

void LayerNorm::forward(const LowerContext& context, KernelList& kernels) const {
  kernels.push_back(norm_kernel(context.precision, {.op = "ln",
                                                    .shape = rows_of(shape),
                                                    .flop = kLayerNormFlop,
                                                    .parameters_read = parameters()}));
}

void LayerNorm::backward(const LowerContext& context, KernelList& kernels) const {
  const std::int64_t n = shape.elements();
  kernels.push_back(vector_kernel(context.precision, {.op = "mul",
                                                      .kind = KernelClass::Pointwise,
                                                      .shape = rows_of(shape),
                                                      .flop_per_element = 1.0,
                                                      .read = 2 * n,
                                                      .written = n}));
}

void LayerNorm::accumulate(const LowerContext& context, KernelList& kernels) const {
  kernels.push_back(gradient_add(context.precision, shape.columns()));
  if (bias) kernels.push_back(gradient_add(context.precision, shape.columns()));
}

Saved RmsNorm::saved(const LowerContext&) const {
  return {.inputs = 1, .output = false, .extra = row_statistics(shape, 1)};  // 1/rms
}

void RmsNorm::forward(const LowerContext& context, KernelList& kernels) const {
  kernels.push_back(norm_kernel(context.precision, {.op = kName,
                                                    .shape = rows_of(shape),
                                                    .flop = kRmsNormFlop,
                                                    .parameters_read = parameters()}));
}

void RmsNorm::backward(const LowerContext& context, KernelList& kernels) const {
  kernels.push_back(norm_kernel(context.precision, {.op = kName,
                                                    .shape = rows_of(shape),
                                                    .flop = 2.0 * kRmsNormFlop,
                                                    .tensors_read = 2,
                                                    .parameters_read = parameters()}));
}

void RmsNorm::accumulate(const LowerContext& context, KernelList& kernels) const {
  kernels.push_back(gradient_add(context.precision, shape.columns()));
}

Saved BatchNorm::saved(const LowerContext&) const {
  return {.inputs = 1, .output = false, .extra = bytes_of(2 * c, DType::Fp32)};
}

// A batch norm reduces over images, not over rows: many CTAs share a channel and its kernels stream
// their tensors like element-wise ones; the second pass over the input is in the bytes.
void BatchNorm::forward(const LowerContext& context, KernelList& kernels) const {
  kernels.push_back(
      norm_kernel(context.precision, {.op = kName,
                                      .kind = KernelClass::Pointwise,
                                      .shape = {.rows = n * c, .columns = spatial},
                                      .flop = training ? kStatisticsFlop + kScaleFlop : kScaleFlop,
                                      .tensors_read = training ? 2 : 1,
                                      .parameters_read = constants()}));
}

void BatchNorm::backward(const LowerContext& context, KernelList& kernels) const {
  // Reductions of dy and dy * x over each channel, then dx: both inputs are read twice.
  kernels.push_back(norm_kernel(context.precision, {.op = kName,
                                                    .kind = KernelClass::Pointwise,
                                                    .shape = {.rows = n * c, .columns = spatial},
                                                    .flop = kStatisticsFlop + kScaleFlop + 2.0,
                                                    .tensors_read = 4,
                                                    .parameters_read = constants()}));
}

void BatchNorm::accumulate(const LowerContext& context, KernelList& kernels) const {
  kernels.push_back(gradient_add(context.precision, c));
  kernels.push_back(gradient_add(context.precision, c));
}

}  // namespace rooftile::ops
