// SPDX-License-Identifier: Apache-2.0
//
// What every operator offers, and the small vocabulary they share. An operator is an aggregate of
// sizes; from these alone it knows its output shape, its parameters and the GPU kernels of its
// forward pass, its backward pass and the accumulation of its parameters' gradients. check() is
// called once, when a graph is imported; afterwards nothing can fail or overflow.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "core/dtype.h"
#include "core/result.h"
#include "core/shape.h"
#include "core/units.h"
#include "ops/kernel_work.h"

namespace rooftile::ops {

/// The number formats of one model step, derived from the model's dtype.
struct Precision {
  DType storage = DType::Fp32;         ///< activations and vector operands
  DType matrix_storage = DType::Fp32;  ///< operands of matrix products
  DType vector_compute = DType::Fp32;
  DType matrix_compute = DType::Fp32;
  /// Bytes of one element of a weight matrix with its share of the scales, where weights are stored
  /// narrower than the products' operands (weight-only quantization); 0 = as matrix_storage.
  double weight_bytes = 0.0;
  std::optional<DType> cache =
      {};  ///< of the key/value cache; nothing: as the operands of attention
  bool operator==(const Precision&) const = default;
};

/// How the weights of an operator are stored and what that makes of its products.
struct WeightFormat {
  double bytes = 2.0;  ///< per weight, with its share of the scales
  /// The format of the products, which activations are brought to; nothing: weights are expanded to
  /// the model's own format first (weight-only quantization).
  std::optional<DType> compute = {};
  bool operator==(const WeightFormat&) const = default;
};

/// fp32 -> all FP32; tf32 -> FP32 storage, TF32 products; fp16 and bf16 -> 16-bit storage, vector
/// arithmetic in FP32; 8- and 4-bit formats -> products in that format, everything else in BF16.
Precision precision_of(DType dtype);
/// `precision` for an operator whose weights are stored in `format`.
Precision with_weights(Precision precision, const WeightFormat& format);
/// Bytes of `elements` weights of a matrix product.
Bytes weight_bytes(std::int64_t elements, const Precision& precision);

/// How an operator is lowered.
struct LowerContext {
  Precision precision;
  bool input_gradient = true;  ///< false for the first layer of a network: nothing is upstream
};

/// What an operator keeps from the forward for the backward pass. Inputs and the output are named,
/// not sized, so that a tensor which two operators keep is counted once.
struct Saved {
  std::uint32_t inputs = 0;  ///< bit i: input i is kept
  bool output = false;
  Bytes extra = {};  ///< masks, statistics, indices that exist only for the backward pass
};

using KernelList = std::vector<KernelWork>;

template <typename T>
concept Operator = std::copyable<T> && std::equality_comparable<T> &&
                   requires(const T& op, const LowerContext& context, KernelList& out) {
                     { T::kName } -> std::convertible_to<std::string_view>;
                     { op.check() } -> std::same_as<Status>;
                     { op.output() } -> std::same_as<Shape>;
                     { op.parameters() } -> std::same_as<std::int64_t>;
                     { op.saved(context) } -> std::same_as<Saved>;
                     { op.forward(context, out) } -> std::same_as<void>;
                     { op.backward(context, out) } -> std::same_as<void>;
                     { op.accumulate(context, out) } -> std::same_as<void>;
                   };

/// An error when a size is not positive or the product of all of them exceeds Shape::kMaxElements;
/// `what` names the tensor ("linear weight"). Errors carry no `where`; the importer adds it.
Status check_sizes(std::string_view what, std::initializer_list<std::int64_t> sizes);
Status check_shape(std::string_view what, const Shape& shape);

/// Bytes of `elements` elements of `dtype`.
Bytes bytes_of(std::int64_t elements, DType dtype);

/// A vector kernel over `shape` that reads `read` and writes `written` elements of the storage
/// type and spends `flop_per_element` on each element of `shape`.
struct VectorWork {
  std::string_view op;
  KernelClass kind = KernelClass::Pointwise;
  RowShape shape;
  double flop_per_element = 1.0;
  std::int64_t read = 0;
  std::int64_t written = 0;
};
KernelWork vector_kernel(const Precision& precision, const VectorWork& work);

/// The right-hand operand of a product is `elements` weights: their bytes are those of the format
/// in which they are stored, and no kernel of this pass has touched them before.
void reads_weights(KernelWork& work, std::int64_t elements, const Precision& precision);

/// C[m,n] = A[m,k] B[k,n] as one kernel; `bias` adds n elements to the read bytes.
KernelWork gemm_kernel(const Precision& precision, std::string_view op, const GemmShape& shape,
                       bool bias);

/// The in-place sum of a parameter's new gradient into its stored one: two reads, one write.
KernelWork gradient_add(const Precision& precision, std::int64_t elements);

RowShape rows_of(const Shape& shape);

}  // namespace rooftile::ops
