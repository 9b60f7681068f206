// SPDX-License-Identifier: Apache-2.0
//
// The operators of the native graph format. Each states its layer parameters only; sizes follow
// from the shapes of its inputs. A new one is a function here and a line in the table of
// native_ops.cpp.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "core/result.h"
#include "core/shape.h"
#include "graph/import/native_fields.h"
#include "ops/any_op.h"

namespace rooftile::graph {

struct NativeOp;

/// What an operator is inferred from.
struct NativeCall {
  const NativeOp& op;
  const NativeFields& fields;
  std::span<const Shape> inputs;
  bool train = false;
  bool loss = false;  ///< training with the cross entropy
};

struct InferredOp {
  ops::AnyOp op;
  std::optional<Shape> output;  ///< where it differs from the operator's own idea of it
};

struct NativeOp {
  static constexpr std::size_t kManyInputs = 512;

  std::string_view name;
  std::size_t min_inputs = 1, max_inputs = 1;
  std::span<const std::string_view> keys;  ///< its fields, besides those of every node
  Result<InferredOp> (*infer)(const NativeCall& call) = nullptr;
  ops::Function function = ops::Function::Add;  ///< of the element-wise ones
};

/// All operators, in the order of docs/format/graph.md.
std::span<const NativeOp> native_ops();

// Images: native_image_ops.cpp.
Result<InferredOp> infer_conv(const NativeCall& call);
Result<InferredOp> infer_pool(const NativeCall& call);
Result<InferredOp> infer_adaptive_pool(const NativeCall& call);
Result<InferredOp> infer_batch_norm(const NativeCall& call);

// Matrices and attention: native_matrix_ops.cpp.
Result<InferredOp> infer_linear(const NativeCall& call);
Result<InferredOp> infer_bmm(const NativeCall& call);
Result<InferredOp> infer_attention(const NativeCall& call);
Result<InferredOp> infer_rotary(const NativeCall& call);
Result<InferredOp> infer_embedding(const NativeCall& call);

// Rows by index and mixtures of experts: native_routing_ops.cpp.
Result<InferredOp> infer_gather(const NativeCall& call);
Result<InferredOp> infer_scatter(const NativeCall& call);
Result<InferredOp> infer_moe_select(const NativeCall& call);
Result<InferredOp> infer_moe_dispatch(const NativeCall& call);
Result<InferredOp> infer_moe_combine(const NativeCall& call);
Result<InferredOp> infer_expert_linear(const NativeCall& call);

// Everything that works on elements, rows or shapes: native_tensor_ops.cpp.
Result<InferredOp> infer_unary(const NativeCall& call);
Result<InferredOp> infer_binary(const NativeCall& call);
Result<InferredOp> infer_softmax(const NativeCall& call);
Result<InferredOp> infer_layer_norm(const NativeCall& call);
Result<InferredOp> infer_rms_norm(const NativeCall& call);
Result<InferredOp> infer_dropout(const NativeCall& call);
Result<InferredOp> infer_cross_entropy(const NativeCall& call);
Result<InferredOp> infer_concat(const NativeCall& call);
Result<InferredOp> infer_contiguous(const NativeCall& call);
Result<InferredOp> infer_cast(const NativeCall& call);
Result<InferredOp> infer_where(const NativeCall& call);
Result<InferredOp> infer_flatten(const NativeCall& call);
Result<InferredOp> infer_reshape(const NativeCall& call);
Result<InferredOp> infer_transpose(const NativeCall& call);
Result<InferredOp> infer_slice(const NativeCall& call);

/// An error at the node unless the input has `rank` axes.
Status expect_rank(const NativeCall& call, std::size_t input, std::size_t rank,
                   std::string_view meaning);

}  // namespace rooftile::graph
