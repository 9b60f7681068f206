// SPDX-License-Identifier: Apache-2.0
#include "ops/operator.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

namespace rooftile::ops {

Precision precision_of(DType dtype) {
  switch (dtype) {
    case DType::Fp64:
      return {.storage = dtype,
              .matrix_storage = dtype,
              .vector_compute = dtype,
              .matrix_compute = dtype};
    case DType::Fp32: return {};
    case DType::Tf32:
      return {.storage = DType::Fp32,
              .matrix_storage = DType::Fp32,
              .vector_compute = DType::Fp32,
              .matrix_compute = DType::Tf32};
    case DType::Fp16:
    case DType::Bf16:
      return {.storage = dtype,
              .matrix_storage = dtype,
              .vector_compute = DType::Fp32,
              .matrix_compute = dtype};
    case DType::Fp8E4m3:
    case DType::Fp8E5m2:
    case DType::Fp4:
    case DType::Int8:
      return {.storage = DType::Bf16,
              .matrix_storage = dtype,
              .vector_compute = DType::Fp32,
              .matrix_compute = dtype};
    case DType::Int32:
    case DType::Int64:
    case DType::Bool: break;
  }
  return {
      .storage = dtype, .matrix_storage = dtype, .vector_compute = dtype, .matrix_compute = dtype};
}

Precision with_weights(Precision precision, const WeightFormat& format) {
  precision.weight_bytes = format.bytes;
  if (format.compute) {
    precision.matrix_storage = *format.compute;
    precision.matrix_compute = *format.compute;
  }
  return precision;
}

Bytes weight_bytes(std::int64_t elements, const Precision& precision) {
  if (precision.weight_bytes == 0.0) return bytes_of(elements, precision.matrix_storage);
  return Bytes::from_base(precision.weight_bytes * static_cast<double>(elements));
}

void reads_weights(KernelWork& work, std::int64_t elements, const Precision& precision) {
  work.cold = weight_bytes(elements, precision);
  if (precision.weight_bytes == 0.0) return;
  work.read += work.cold - bytes_of(elements, precision.matrix_storage);
  work.right_bytes = precision.weight_bytes;
}

Status check_sizes(std::string_view what, std::initializer_list<std::int64_t> sizes) {
  return check_shape(what, Shape(sizes));
}

Status check_shape(std::string_view what, const Shape& shape) {
  for (const std::int64_t size : shape.sizes()) {
    if (size <= 0) {
      return bad_input({}, fmt::format("{} has the size {} in {}", what, size, to_string(shape)),
                       "sizes are whole numbers of at least 1");
    }
  }
  if (!checked_product(shape.sizes())) {
    return bad_input({}, fmt::format("{} of {} is too large", what, to_string(shape)),
                     "a tensor may have up to 2^53 elements");
  }
  return {};
}

Bytes bytes_of(std::int64_t elements, DType dtype) {
  return size_of(dtype) * static_cast<double>(elements);
}

KernelWork vector_kernel(const Precision& precision, const VectorWork& work) {
  const double elements =
      static_cast<double>(work.shape.rows) * static_cast<double>(work.shape.columns);
  return {.op = std::string(work.op),
          .kind = work.kind,
          .dtype = precision.storage,
          .compute = precision.vector_compute,
          .matrix = false,
          .shape = work.shape,
          .flops = Flops::from_base(elements * work.flop_per_element),
          .read = bytes_of(work.read, precision.storage),
          .written = bytes_of(work.written, precision.storage)};
}

KernelWork gemm_kernel(const Precision& precision, std::string_view op, const GemmShape& shape,
                       bool bias) {
  const auto b = static_cast<double>(shape.batch);
  const auto m = static_cast<double>(shape.m);
  const auto n = static_cast<double>(shape.n);
  const auto k = static_cast<double>(shape.k);
  const Bytes in = size_of(precision.matrix_storage);
  const Bytes out = size_of(precision.storage);
  return {.op = std::string(op),
          .kind = shape.batch == 1 ? KernelClass::Gemm : KernelClass::BatchedGemm,
          .dtype = precision.matrix_storage,
          .compute = precision.matrix_compute,
          .matrix = true,
          .shape = shape,
          .flops = Flops::from_base(2.0 * b * m * n * k),
          .read = in * (b * (m * k + k * n)) + (bias ? out * n : Bytes{}),
          .written = out * (b * m * n)};
}

KernelWork gradient_add(const Precision& precision, std::int64_t elements) {
  KernelWork work = vector_kernel(precision, {.op = "add",
                                              .kind = KernelClass::Pointwise,
                                              .shape = {.rows = 1, .columns = elements},
                                              .flop_per_element = 1.0,
                                              .read = 2 * elements,
                                              .written = elements});
  work.cold = bytes_of(2 * elements, precision.storage);  // the stored one, read and written
  return work;
}

RowShape rows_of(const Shape& shape) {
  return {.rows = shape.rows(), .columns = shape.columns()};
}

}  // namespace rooftile::ops
