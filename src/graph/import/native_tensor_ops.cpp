// SPDX-License-Identifier: Apache-2.0
//
// Element-wise operators, norms, copies and changes of shape of the native graph format.
#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "graph/import/native_ops.h"

namespace rooftile::graph {

namespace {

InferredOp view_of(const Shape& shape) {
  return {.op = ops::View{.shape = shape}, .output = {}};
}

/// True when `second` repeats along some axes of `first`, aligned at the innermost axis.
bool broadcasts(const Shape& first, const Shape& second) {
  if (second.rank() > first.rank()) return false;
  for (std::size_t i = 1; i <= second.rank(); ++i) {
    const std::int64_t size = second[second.rank() - i];
    if (size != 1 && size != first[first.rank() - i]) return false;
  }
  return true;
}

}  // namespace

Result<InferredOp> infer_unary(const NativeCall& call) {
  return InferredOp{.op = ops::Elementwise{.function = call.op.function,
                                           .operands = ops::Operands::Unary,
                                           .shape = call.inputs[0]},
                    .output = {}};
}

Result<InferredOp> infer_binary(const NativeCall& call) {
  const Shape& first = call.inputs[0];
  ROOFTILE_TRY(const bool scalar, call.fields.flag("scalar", false));
  ops::Elementwise op{
      .function = call.op.function, .operands = ops::Operands::Scalar, .shape = first};
  if (scalar != (call.inputs.size() == 1)) {
    return call.fields.node().error(
        fmt::format("\"{}\" has {} inputs", call.op.name, call.inputs.size()),
        "it takes two inputs, or one and \"scalar\": true");
  }
  if (scalar) return InferredOp{.op = op, .output = {}};
  const Shape& second = call.inputs[1];
  if (!broadcasts(first, second)) {
    return call.fields.node().error(fmt::format("\"{}\" cannot combine {} with {}", call.op.name,
                                                to_string(first), to_string(second)),
                                    "each size of the second input must be 1 or that of the first");
  }
  op.operands = ops::Operands::Binary;
  op.second = second.elements() == first.elements() ? 0 : second.elements();
  return InferredOp{.op = op, .output = {}};
}

Result<InferredOp> infer_softmax(const NativeCall& call) {
  return InferredOp{.op = ops::Softmax{.shape = call.inputs[0]}, .output = {}};
}

Result<InferredOp> infer_layer_norm(const NativeCall& call) {
  ROOFTILE_TRY(const bool bias, call.fields.flag("bias", true));
  return InferredOp{.op = ops::LayerNorm{.shape = call.inputs[0], .bias = bias}, .output = {}};
}

Result<InferredOp> infer_rms_norm(const NativeCall& call) {
  return InferredOp{.op = ops::RmsNorm{.shape = call.inputs[0]}, .output = {}};
}

Result<InferredOp> infer_dropout(const NativeCall& call) {
  if (!call.train) return view_of(call.inputs[0]);
  return InferredOp{.op = ops::Dropout{.shape = call.inputs[0]}, .output = {}};
}

Result<InferredOp> infer_cross_entropy(const NativeCall& call) {
  const Shape& logits = call.inputs[0];
  if (!call.loss) return view_of(logits);
  return InferredOp{.op = ops::CrossEntropy{.rows = logits.rows(), .classes = logits.columns()},
                    .output = {}};
}

Result<InferredOp> infer_concat(const NativeCall& call) {
  const Shape& first = call.inputs[0];
  ROOFTILE_TRY(const std::size_t axis, call.fields.axis("axis", 1, first.rank()));
  std::vector<std::int64_t> sizes(first.sizes().begin(), first.sizes().end());
  Shape largest = first;
  for (const Shape& other : call.inputs.subspan(1)) {
    bool fits = other.rank() == first.rank();
    for (std::size_t i = 0; fits && i < first.rank(); ++i) fits = i == axis || other[i] == first[i];
    if (!fits) {
      return call.fields.node().error(fmt::format("\"concat\" cannot join {} and {} along axis {}",
                                                  to_string(first), to_string(other), axis),
                                      "all other sizes must be equal");
    }
    sizes[axis] += other[axis];  // at most 512 inputs of 2^53
    if (other.elements() > largest.elements()) largest = other;
  }
  const Shape result{std::span<const std::int64_t>(sizes)};
  if (!checked_product(result.sizes())) {
    return call.fields.node().error(fmt::format("a tensor of {} is too large", to_string(result)),
                                    "a tensor may have up to 2^53 elements");
  }
  return InferredOp{.op = ops::Move{.kind = ops::MoveKind::Cat,
                                    .input = largest,
                                    .result = result,
                                    .others = result.elements() - largest.elements()},
                    .output = {}};
}

Result<InferredOp> infer_contiguous(const NativeCall& call) {
  return InferredOp{
      .op = ops::Move{.kind = ops::MoveKind::Contiguous, .input = call.inputs[0], .result = {}},
      .output = {}};
}

Result<InferredOp> infer_cast(const NativeCall& call) {
  return InferredOp{
      .op = ops::Move{.kind = ops::MoveKind::Cast, .input = call.inputs[0], .result = {}},
      .output = {}};
}

Result<InferredOp> infer_where(const NativeCall& call) {
  const Shape& first = call.inputs[0];
  std::int64_t others = 0;
  for (const Shape& other : call.inputs.subspan(1)) {
    if (!broadcasts(first, other)) {
      return call.fields.node().error(
          fmt::format("\"where\" cannot combine {} with {}", to_string(first), to_string(other)),
          "each size of the mask and the second choice must be 1 or that of the first");
    }
    others += other.elements();
  }
  return InferredOp{
      .op = ops::Move{.kind = ops::MoveKind::Where, .input = first, .result = {}, .others = others},
      .output = {}};
}

Result<InferredOp> infer_flatten(const NativeCall& call) {
  const Shape& input = call.inputs[0];
  ROOFTILE_TRY(const std::size_t axis,
               call.fields.axis("axis", input.rank() > 1 ? 1 : 0, input.rank()));
  std::vector<std::int64_t> sizes;
  for (std::size_t i = 0; i < axis; ++i) sizes.push_back(input[i]);
  std::int64_t rest = 1;
  for (std::size_t i = axis; i < input.rank(); ++i) rest *= input[i];
  sizes.push_back(rest);
  return view_of(Shape(sizes));
}

Result<InferredOp> infer_reshape(const NativeCall& call) {
  ROOFTILE_TRY(const JsonView field, call.fields.node().at("shape"));
  ROOFTILE_TRY(const Shape shape, native_shape(field, call.fields.symbols()));
  if (shape.elements() != call.inputs[0].elements()) {
    return field.error(fmt::format("{} has {} elements, the input {} has {}", to_string(shape),
                                   shape.elements(), to_string(call.inputs[0]),
                                   call.inputs[0].elements()));
  }
  return view_of(shape);
}

Result<InferredOp> infer_transpose(const NativeCall& call) {
  const Shape& input = call.inputs[0];
  ROOFTILE_TRY(const JsonView field, call.fields.node().at("order"));
  ROOFTILE_TRY(const auto elements, field.elements());
  std::vector<std::int64_t> sizes;
  std::vector<bool> used(input.rank());
  bool permutes = elements.size() == input.rank();
  for (std::size_t i = 0; permutes && i < elements.size(); ++i) {
    ROOFTILE_TRY(const std::int64_t axis, elements[i].integer(0, kMaxNativeSize));
    const auto index = static_cast<std::size_t>(axis);
    permutes = index < used.size() && !used[index];
    if (!permutes) break;
    used[index] = true;
    sizes.push_back(input[index]);
  }
  if (!permutes) {
    return field.error(
        fmt::format("this is not an order of the {} axes of {}", input.rank(), to_string(input)),
        "name each axis from 0 once");
  }
  return view_of(Shape(sizes));
}

Result<InferredOp> infer_slice(const NativeCall& call) {
  const Shape& input = call.inputs[0];
  ROOFTILE_TRY(const std::size_t axis, call.fields.axis("axis", -1, input.rank()));
  ROOFTILE_TRY(const std::int64_t size, call.fields.size("size"));
  if (size > input[axis]) {
    return call.fields.at_or_node("size").error(
        fmt::format("a slice of {} exceeds axis {} of {}", size, axis, to_string(input)));
  }
  std::vector<std::int64_t> sizes(input.sizes().begin(), input.sizes().end());
  sizes[axis] = size;
  return view_of(Shape(sizes));
}

}  // namespace rooftile::graph
